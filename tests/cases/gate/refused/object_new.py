# refused: HC110 dangerous
# makes an object past its constructor
object.__new__(Thing)
