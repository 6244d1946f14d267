# refused: HC126 dangerous, HC132 unsupported
# changes a type for the whole process
from collections.abc import Mapping
Mapping.register(Thing)
