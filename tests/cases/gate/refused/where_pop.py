# refused: HC150 unsupported
# a condition has no effects
# purpose: expression
d.pop('x') == 1
