# accepted
# a slice
_eh_rtn = [(start, Error, text[start:])]
