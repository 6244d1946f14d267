# refused: HC120 dangerous, HC133 dangerous
# runs what it reads
import pickle
value = pickle.loads(raw)
