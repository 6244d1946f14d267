# refused: HC115 unsupported
# maybe a file
path.open('w')
