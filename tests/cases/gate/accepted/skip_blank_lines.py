# accepted
# a filter
lines = [line for line in lines if line.strip()]
