# refused: HC102 unsupported
# stops the heal
assert x
