# accepted
# the program's own private attribute
_eh_rtn = self._values.categories
