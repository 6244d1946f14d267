# refused: HC124 unsupported
# out of sight
import json
[json][0].codecs
