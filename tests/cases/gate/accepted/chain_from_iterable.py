# accepted
# flattened
import itertools
flat = list(itertools.chain.from_iterable(rows))
