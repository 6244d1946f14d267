# refused: HC134 unsupported
# which function is out of sight
list(map(*parts))
