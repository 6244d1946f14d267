# refused: HC132 dangerous
# the type of a type by two steps is refused where it shows
[type(type(x))][0]('X', (), {})
