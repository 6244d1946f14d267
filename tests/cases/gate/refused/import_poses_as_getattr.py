# refused: HC123 unsupported
# hides a builtin that the gate reads by name
from math import floor as getattr
getattr(x, name)
