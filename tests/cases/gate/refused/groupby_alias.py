# refused: HC132 unsupported
# its arguments would be out of sight
from itertools import groupby as g
h = g
h(xs, cleanup)
