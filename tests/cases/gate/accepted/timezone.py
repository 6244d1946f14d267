# accepted
# a zone
from datetime import datetime, timezone
now = datetime.fromtimestamp(0, tz=timezone.utc)
