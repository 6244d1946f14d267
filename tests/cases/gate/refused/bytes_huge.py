# refused: HC142 unsupported
# takes all memory
x = bytes(10 ** 10)
