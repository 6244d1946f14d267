# refused: HC134 unsupported
# the program's own itertools
groupby(paths, self.delete)
