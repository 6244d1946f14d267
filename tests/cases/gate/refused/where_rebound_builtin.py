# refused: HC150 unsupported
# a variable of the frame, not the builtin
# purpose: expression
# shadowed: len
len(x) == 1
