# refused: HC110 dangerous, HC132 unsupported
# a builtin's module
print.__self__
