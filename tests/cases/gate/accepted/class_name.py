# accepted
# the same by attribute
kind = value.__class__.__name__
