# refused: HC126 unsupported
# for all instances
type(self).check = fake
