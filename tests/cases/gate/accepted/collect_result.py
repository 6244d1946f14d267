# accepted
# the returned value is built up
_eh_rtn = {}
for key, value in pairs:
    _eh_rtn[key] = value
