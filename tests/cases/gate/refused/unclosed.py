# refused: HC100 unsupported
# not Python
f(1, [2
