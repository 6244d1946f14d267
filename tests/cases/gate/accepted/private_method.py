# accepted
# the program's own private method
self._stripws_default(tlist)
_eh_rtn = None
