# refused: HC122 dangerous
# the module behind the path functions
from os.path import os
os.remove(path)
