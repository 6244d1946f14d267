# accepted
# a constant
limit = sys.maxsize
