# accepted
# sums
total = sum(x.amount for x in items if x) if any(items) and all(keys) else 0
