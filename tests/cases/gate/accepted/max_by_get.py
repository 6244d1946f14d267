# accepted
# a mapping's get as key
best = max(counts, key=counts.get)
