# accepted
# the program's own lock
with self._lock:
    self._items.pop(key, None)
