# refused: HC123 unsupported
# hides what is imported
from math import *
