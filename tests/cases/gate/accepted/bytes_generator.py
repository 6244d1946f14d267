# accepted
# nested generator
_eh_rtn = bytes(v for i in range(256) for v in (i, i, i))
