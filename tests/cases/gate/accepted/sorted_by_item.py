# accepted
# an item as key
from operator import itemgetter
rows = sorted(rows, key=itemgetter(1, 'name'), reverse=True)
