# refused: HC150 unsupported
# a condition has no effects
# purpose: expression
next(rows) == 1
