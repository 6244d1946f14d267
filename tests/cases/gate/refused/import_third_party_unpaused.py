# refused: HC121 unsupported
# unknown without the paused program
from numpy import array
