# refused: HC142 unsupported
# takes all memory
x = 10 ** 9 * [0]
