# refused: HC142 unsupported
# does not end
for i in range(10 ** 12):
    pass
