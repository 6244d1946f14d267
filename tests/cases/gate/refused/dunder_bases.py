# refused: HC110 dangerous
# the class tree
type(x).__bases__
