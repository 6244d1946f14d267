# refused: HC124 unsupported
# out of sight
import json
register(json)
