# refused: HC102 unsupported
# the program returns by _eh_rtn
return None
