# refused: HC110 dangerous
# a call out of sight
f.__call__(path)
