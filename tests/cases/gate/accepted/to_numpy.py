# accepted
# methods and types as arguments
indexer = mask.to_numpy(dtype=bool).nonzero()[0]
