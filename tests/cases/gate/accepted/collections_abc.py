# accepted
# an abstract class to ask about
from collections.abc import Mapping
if isinstance(value, Mapping):
    value = dict(value)
