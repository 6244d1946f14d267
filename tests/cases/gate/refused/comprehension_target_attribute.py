# refused: HC144 unsupported
# binds out of sight
[0 for self.x in xs]
