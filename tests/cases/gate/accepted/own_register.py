# accepted
# the program's registry
self.registry.register(Thing)
