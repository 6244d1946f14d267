# accepted
# a checksum
import hashlib
digest = hashlib.sha256(body).hexdigest()
