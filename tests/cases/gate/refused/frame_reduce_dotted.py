# refused: HC134 unsupported
# the program's own functools
functools.reduce(merge, xs)
