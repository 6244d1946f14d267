# refused: HC121 unsupported
# changes how code is read
from __future__ import annotations
