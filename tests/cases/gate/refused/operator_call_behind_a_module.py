# refused: HC133 dangerous
# a call out of sight
typing.operator.call(self.delete, path)
