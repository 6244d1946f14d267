# accepted
# a number
count = 1
