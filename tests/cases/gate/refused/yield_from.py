# refused: HC102 unsupported
# a generator
yield from xs
