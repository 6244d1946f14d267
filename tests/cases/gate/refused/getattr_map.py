# refused: HC132 dangerous, HC134 unsupported
# getattr as a callable
list(map(getattr, xs, names))
