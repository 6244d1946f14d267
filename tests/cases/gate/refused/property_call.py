# refused: HC131 unsupported
# makes a descriptor
p = property(f)
