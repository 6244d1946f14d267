# refused: HC126 dangerous, HC144 unsupported
# shared
import math
for math.pi in [3]:
    pass
