# refused: HC132 dangerous, HC134 unsupported
# a chain of attributes
from functools import reduce
reduce(getattr, ['__class__', '__base__'], x)
