# refused: HC134 unsupported
# calls out of sight
import itertools
list(itertools.starmap(cleanup, pairs))
