# refused: HC141 unsupported
# nothing changes the test
while not ready:
    x = 1
