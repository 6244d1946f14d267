# refused: HC132 unsupported
# the name is not a literal
getattr(self, name)
