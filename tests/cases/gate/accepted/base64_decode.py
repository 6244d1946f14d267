# accepted
# padded
import base64
raw = base64.b64decode(text + '=' * (-len(text) % 4))
