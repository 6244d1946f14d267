# refused: HC113 unsupported
# not a variable
del _eh_rtn
