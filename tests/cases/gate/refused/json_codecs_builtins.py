# refused: HC114 dangerous, HC115 unsupported, HC122 unsupported
# json leads to the builtins
import json
json.codecs.builtins.open('x', 'w')
