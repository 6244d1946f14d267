# refused: HC150 unsupported
# one expression
# purpose: expression
