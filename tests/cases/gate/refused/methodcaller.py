# refused: HC122 dangerous
# methods by text
from operator import methodcaller
methodcaller('format', x)('{0.__class__}')
