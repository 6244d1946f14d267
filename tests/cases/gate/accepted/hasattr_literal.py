# accepted
# an attribute asked about
if hasattr(value, '__iter__') and not isinstance(value, str):
    value = list(value)
