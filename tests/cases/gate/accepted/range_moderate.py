# accepted
# ordinary ranges
for i in range(100000):
    total += i
