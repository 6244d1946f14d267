# refused: HC126 dangerous
# shared
import json
del json.loads
