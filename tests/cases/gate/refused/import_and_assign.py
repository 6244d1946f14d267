# refused: HC123 unsupported
# two meanings
import json
json = thing
json.loads(text)
