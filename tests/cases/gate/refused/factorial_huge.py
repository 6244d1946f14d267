# refused: HC142 unsupported
# does not end
import math
x = math.factorial(10 ** 7)
