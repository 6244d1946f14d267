# refused: HC126 dangerous
# shared
import math
math.pi, x = 3, 4
