# refused: HC132 unsupported
# its arguments would be out of sight
m = max
m(paths, key=cleanup)
