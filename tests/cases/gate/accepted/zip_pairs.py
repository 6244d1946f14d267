# accepted
# pairs
table = dict(zip(keys, values))
