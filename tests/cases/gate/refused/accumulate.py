# refused: HC134 unsupported
# calls out of sight
import itertools
list(itertools.accumulate(xs, cleanup))
