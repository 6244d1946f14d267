# refused: HC134 unsupported
# the heal's own `len` is no builtin
len_of = 1
int = self.delete
list(map(int, paths))
