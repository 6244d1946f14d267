# refused: HC102 unsupported
# a function
def heal(x):
    return x
