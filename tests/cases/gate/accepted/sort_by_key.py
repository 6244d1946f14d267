# accepted
# a pure key
rows.sort(key=len)
