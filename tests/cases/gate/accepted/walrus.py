# accepted
# a name in passing
if (found := table.get(key)) is None:
    found = table[key] = []
