# refused: HC134 unsupported
# calls out of sight
from itertools import groupby
groupby(xs, cleanup)
