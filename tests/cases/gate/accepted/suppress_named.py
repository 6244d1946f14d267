# accepted
# a context manager
from contextlib import suppress
with suppress(KeyError):
    del cache[key]
