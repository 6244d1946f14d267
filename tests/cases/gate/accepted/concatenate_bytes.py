# accepted
# bytes put together
_eh_rtn = codes[color_key].encode() + text + codes['reset'].encode()
