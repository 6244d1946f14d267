# refused: HC145 unsupported
# map hands it on
later = map(str, (self.delete(path) for path in paths))
