# refused: HC142 unsupported
# takes all memory
x = format(1, '1000000000')
