# accepted
# a loop whose test changes
i = 0
while i < len(items):
    i += 1
