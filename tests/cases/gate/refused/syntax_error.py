# refused: HC100 unsupported
# not Python
x = = 1
