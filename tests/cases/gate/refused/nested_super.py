# refused: HC110 dangerous
# an internal of super
super(Thing, self).__getattribute__('x')
