# refused: HC122 dangerous
# writes
import json
json.dump(value, stream)
