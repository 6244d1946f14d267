# refused: HC134 unsupported
# calls out of sight
list(filter(self.remove, paths))
