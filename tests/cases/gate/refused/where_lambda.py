# refused: HC102 unsupported, HC150 unsupported
# outside the subset as ever
# purpose: expression
(lambda: True)()
