# refused: HC113 unsupported
# not a value of the program
x = _eh_rtn
