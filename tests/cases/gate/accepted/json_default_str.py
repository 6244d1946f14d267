# accepted
# dates as text
import json
text = json.dumps(value, default=str, sort_keys=True)
