# refused: HC130 dangerous
# the name may still mean the builtin
if False:
    compile = 1
compile('1', 'x', 'eval')
