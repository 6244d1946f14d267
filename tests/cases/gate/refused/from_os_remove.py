# refused: HC120 dangerous
# a sink by name
from os import remove
remove(path)
