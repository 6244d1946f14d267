# refused: HC144 unsupported
# binds out of sight
with thing as d['x']:
    pass
