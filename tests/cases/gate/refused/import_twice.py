# refused: HC123 unsupported
# two meanings
from math import floor as f
from json import loads as f
