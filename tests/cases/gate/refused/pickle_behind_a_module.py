# refused: HC133 dangerous
# runs what it reads
self.pickle.loads(raw)
