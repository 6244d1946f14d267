# refused: HC126 dangerous
# changes a type for the whole process
type(x).register(Thing)
