# refused: HC132 dangerous
# can make a class
t = type
