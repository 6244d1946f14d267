# accepted
# a method's result
_eh_rtn = match.group(0)
