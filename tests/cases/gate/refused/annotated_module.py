# refused: HC126 dangerous
# shared
import math
math.pi: float = 3
