# refused: HC142 unsupported
# takes all memory
x = 'a' * 10 ** 9
