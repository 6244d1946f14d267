# refused: HC110 dangerous
# the program's own operator
attrgetter('__class__.__base__')(x)
