# refused: HC110 dangerous
# the program's own operator
m = methodcaller
