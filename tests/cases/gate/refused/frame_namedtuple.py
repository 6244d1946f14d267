# refused: HC110 dangerous
# makes a class
namedtuple('P', 'x')
