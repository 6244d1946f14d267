# refused: HC110 dangerous
# attributes by text
object.__setattr__(x, name, 1)
