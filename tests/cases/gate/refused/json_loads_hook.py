# refused: HC134 unsupported
# calls out of sight
import json
json.loads(text, object_hook=callback)
