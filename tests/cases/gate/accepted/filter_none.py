# accepted
# falsy values dropped
items = list(filter(None, items))
