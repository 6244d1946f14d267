# refused: HC113 unsupported
# reserved
_eh_state = 1
