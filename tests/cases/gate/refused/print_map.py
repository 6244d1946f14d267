# refused: HC132 unsupported, HC134 unsupported
# prints out of sight
list(map(print, secrets))
