# refused: HC122 dangerous
# evaluates text, makes a class
from collections import namedtuple
P = namedtuple('P', 'x y')
