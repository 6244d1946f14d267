# accepted
# in place
total += amount
self.seen |= {key}
counts[key] -= 1
