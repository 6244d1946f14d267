# refused: HC134 unsupported
# calls out of sight
sorted(paths, key=self.delete)
