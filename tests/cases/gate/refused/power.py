# refused: HC142 unsupported
# does not end
x = 9 ** 9 ** 9
