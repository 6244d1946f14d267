# accepted
# what an object has
# purpose: probe
[name for name in dir(value) if not name.startswith('_')]
