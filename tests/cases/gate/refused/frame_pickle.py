# refused: HC133 dangerous
# runs what it reads
pickle.loads(raw)
