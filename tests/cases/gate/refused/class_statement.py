# refused: HC102 unsupported
# a class
class Fake:
    pass
