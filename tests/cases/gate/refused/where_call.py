# refused: HC150 unsupported
# a condition has no effects
# purpose: expression
self.reset() is None
