# refused: HC141 unsupported
# no end
while True:
    pass
