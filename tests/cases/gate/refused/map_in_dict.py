# refused: HC132 unsupported
# its arguments would be out of sight
d = {'m': map}
