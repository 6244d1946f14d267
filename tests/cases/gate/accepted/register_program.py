# accepted
# the program's own registry
registry.register(name, handler)
