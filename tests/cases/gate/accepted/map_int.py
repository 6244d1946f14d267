# accepted
# a pure type mapped
numbers = list(map(int, parts))
