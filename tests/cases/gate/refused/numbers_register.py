# refused: HC126 dangerous, HC132 unsupported
# changes a type for the whole process
import numbers
numbers.Number.register(Thing)
