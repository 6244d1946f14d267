# refused: HC134 unsupported
# calls out of sight
list(map(cleanup, paths))
