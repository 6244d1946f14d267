# refused: HC102 unsupported
# a generator
yield 1
