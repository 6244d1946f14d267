# refused: HC102 unsupported
# the program raises by _eh_raise
raise ValueError('x')
