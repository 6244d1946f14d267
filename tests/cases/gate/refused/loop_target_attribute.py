# refused: HC144 unsupported
# binds out of sight
for self.x in xs:
    pass
