# accepted
# a module under a short name
import datetime as dt
kept = {k: parts[k] for k in ('year', 'month', 'day', 'minute', 'second', 'tzinfo') if k in parts}
_eh_rtn = datetime(hour=hour, **kept) + dt.timedelta(seconds=1)
