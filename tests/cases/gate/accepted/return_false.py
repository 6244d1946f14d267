# accepted
# answer in place of the function
_eh_rtn = False
