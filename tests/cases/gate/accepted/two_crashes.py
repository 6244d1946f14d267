# accepted
# a cookie itself
target.put(key)
