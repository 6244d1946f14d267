# refused: HC131 unsupported
# makes a descriptor
s = staticmethod
