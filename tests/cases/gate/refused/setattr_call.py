# refused: HC132 unsupported
# hides a change
setattr(self, 'ready', True)
