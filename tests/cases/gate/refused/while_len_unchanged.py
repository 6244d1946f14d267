# refused: HC141 unsupported
# asking is not changing
while len(queue) > 0:
    total = 1
