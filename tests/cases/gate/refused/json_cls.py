# refused: HC134 unsupported
# a class whose methods are called
import json
json.dumps(value, cls=Encoder)
