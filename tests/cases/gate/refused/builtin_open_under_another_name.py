# refused: HC110 dangerous
# tokenize keeps open
tools.tokenize._builtin_open('x', 'w')
