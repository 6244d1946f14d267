# refused: HC134 unsupported
# calls out of sight
list(map(self.delete, paths))
