# refused: HC120 dangerous, HC123 unsupported
# a sink posing as a builtin
from os import remove as len
len(path)
