# accepted
# grouped without a key function
from itertools import groupby
runs = [(k, len(list(g))) for k, g in groupby(letters)]
