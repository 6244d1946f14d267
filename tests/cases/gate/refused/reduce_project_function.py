# refused: HC134 unsupported
# calls out of sight
import functools
functools.reduce(merge, xs)
