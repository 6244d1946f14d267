# refused: HC145 unsupported
# it would run after the heal, unguarded
self.pending = (self.delete(path) for path in paths)
