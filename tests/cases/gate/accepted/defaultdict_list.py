# accepted
# a list for each key
from collections import defaultdict
groups = defaultdict(list)
for item in items:
    groups[item.kind].append(item)
