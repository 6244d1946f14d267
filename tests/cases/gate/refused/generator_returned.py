# refused: HC145 unsupported
# it would run after the heal, unguarded
_eh_rtn = (self.delete(path) for path in paths)
