# accepted
# one of two
size = len(items) if items is not None else 0
