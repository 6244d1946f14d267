# refused: HC102 unsupported
# a function
f = lambda x: x
