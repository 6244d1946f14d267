# accepted
# several values
# purpose: probe
print(type(value).__name__, len(value))
repr(value)[:200]
