# accepted
# a named error of a module
import json
try:
    data = json.loads(text)
except json.JSONDecodeError:
    data = {}
