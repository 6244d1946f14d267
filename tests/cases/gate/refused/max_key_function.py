# refused: HC134 unsupported
# calls out of sight
max(paths, key=cleanup)
