# refused: HC134 unsupported
# the program's own functools
reduce(getattr_like, names, x)
