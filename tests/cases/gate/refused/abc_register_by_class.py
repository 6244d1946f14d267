# refused: HC126 dangerous
# changes a type for the whole process
from fractions import Fraction
Fraction.register(Thing)
