# refused: HC126 dangerous
# for the whole process
import json
json.loads = fake
