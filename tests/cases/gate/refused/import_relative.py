# refused: HC123 unsupported
# no package to start from
from . import settings
