# refused: HC132 unsupported
# its arguments would be out of sight
s = sorted
s(paths, key=cleanup)
