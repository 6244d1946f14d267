# refused: HC142 unsupported
# takes all memory
x = 1 << 10 ** 10
