# refused: HC110 dangerous
# attributes by text
object.__getattribute__(x, name)
