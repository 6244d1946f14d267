# refused: HC110 dangerous
# a module's names
f.__globals__['os']
