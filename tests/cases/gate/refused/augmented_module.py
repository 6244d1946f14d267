# refused: HC126 dangerous
# shared
import math
math.pi += 1
