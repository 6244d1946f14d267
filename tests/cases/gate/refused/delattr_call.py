# refused: HC132 unsupported
# hides a change
delattr(self, 'cache')
