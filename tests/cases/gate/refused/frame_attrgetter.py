# refused: HC110 dangerous
# the program's own operator
operator.attrgetter('x.y')(z)
