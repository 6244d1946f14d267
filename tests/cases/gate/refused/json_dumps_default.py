# refused: HC134 unsupported
# calls out of sight
import json
json.dumps(value, default=callback)
