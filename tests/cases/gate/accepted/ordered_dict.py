# accepted
# an order
import collections
d = collections.OrderedDict(sorted(d.items()))
