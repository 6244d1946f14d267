# refused: HC120 dangerous, HC123 unsupported
# hides the system
from os import *
