# refused: HC150 unsupported
# a condition has no effects
# purpose: expression
items.append(1) is None
