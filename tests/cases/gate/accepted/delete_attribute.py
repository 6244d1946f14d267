# accepted
# a stale cache of the object
del self._cache
