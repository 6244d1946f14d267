# refused: HC122 dangerous
# attributes by text
from operator import attrgetter as pick
pick('format')('{0.__class__}')
