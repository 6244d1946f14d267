# accepted
# a mapping closed
groups.default_factory = None
