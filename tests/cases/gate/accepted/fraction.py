# accepted
# an exact number
from fractions import Fraction
ratio = Fraction(width, height or 1)
