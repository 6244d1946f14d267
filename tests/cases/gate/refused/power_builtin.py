# refused: HC142 unsupported
# does not end
x = pow(9, 9 ** 9)
