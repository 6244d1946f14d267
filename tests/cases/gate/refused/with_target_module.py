# refused: HC126 dangerous, HC144 unsupported
# shared
import math
with thing as math.pi:
    pass
