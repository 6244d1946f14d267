# refused: HC141 unsupported
# the break belongs to another loop
while 1:
    for x in xs:
        break
