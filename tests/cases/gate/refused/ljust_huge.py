# refused: HC142 unsupported
# takes all memory
x = 'a'.ljust(10 ** 10)
