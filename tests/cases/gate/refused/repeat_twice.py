# refused: HC142 unsupported
# takes all memory
x = 'a' * 10000 * 10000000000
