# refused: HC134 unsupported
# calls out of sight
paths.sort(key=cleanup)
