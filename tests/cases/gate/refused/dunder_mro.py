# refused: HC110 dangerous
# the class tree
type(x).__mro__[-1]
