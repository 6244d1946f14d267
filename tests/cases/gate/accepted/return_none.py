# accepted
# leave the function
_eh_rtn = None
