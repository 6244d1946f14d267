# accepted
# a name of a module
from datetime import timedelta
end = start + timedelta(days=1)
