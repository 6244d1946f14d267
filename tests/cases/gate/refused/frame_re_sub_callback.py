# refused: HC134 unsupported
# the program's own re
re.sub('x', callback, text)
