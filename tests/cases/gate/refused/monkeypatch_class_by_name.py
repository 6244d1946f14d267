# refused: HC126 unsupported
# for all instances
cls = type(self)
cls.check = fake
