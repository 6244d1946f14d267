# refused: HC121 unsupported
# not in the list
import random
value = random.random()
