# refused: HC110 dangerous, HC122 dangerous, HC132 unsupported
# evaluates text
import typing
typing.get_type_hints(thing)
