# refused: HC132 dangerous
# can make a class
k = type(x)
type(k)('X', (), {})
