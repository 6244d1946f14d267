# accepted
# an empty iterator
iter_keys = iter(())
