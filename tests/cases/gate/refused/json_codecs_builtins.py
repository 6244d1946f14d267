# refused: HC114 dangerous, HC115 unsupported, HC122 unsupported, HC133 dangerous
# json leads to the builtins
import json
json.codecs.builtins.open('x', 'w')
