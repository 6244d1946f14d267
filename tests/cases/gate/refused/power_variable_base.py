# refused: HC142 unsupported
# does not end
x = n ** 10 ** 9
