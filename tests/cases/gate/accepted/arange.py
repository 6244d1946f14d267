# accepted
# a function of a library
left_indexer = np.arange(len(self.left), dtype=np.intp)
