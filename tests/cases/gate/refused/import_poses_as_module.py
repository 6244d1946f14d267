# refused: HC123 unsupported
# poses as a module
import json as os
