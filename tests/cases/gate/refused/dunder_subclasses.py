# refused: HC110 dangerous
# every class
object.__subclasses__()
