# accepted
# a plain object
from types import SimpleNamespace
user = SimpleNamespace(name='', roles=[])
