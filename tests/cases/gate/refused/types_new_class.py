# refused: HC122 dangerous
# makes a class
from types import new_class
new_class('X')
