# accepted
# a wrong encoding
_eh_rtn = raw.decode('utf-8', errors='replace')
