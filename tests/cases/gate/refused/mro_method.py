# refused: HC111 dangerous
# the class tree without underscores
type(x).mro()
