# refused: HC123 unsupported
# hides a builtin
from json import loads as print
