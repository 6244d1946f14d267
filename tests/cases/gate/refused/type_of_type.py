# refused: HC132 dangerous
# can make a class
type(type(x))('X', (), {})
