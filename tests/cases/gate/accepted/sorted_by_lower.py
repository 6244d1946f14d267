# accepted
# a method of a type as key
names = sorted(names, key=str.lower)
