# refused: HC123 unsupported
# no package to start from
from ..core import state
