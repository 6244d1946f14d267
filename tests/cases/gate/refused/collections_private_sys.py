# refused: HC114 dangerous, HC122 dangerous, HC133 dangerous
# one underscore does not hide it
import collections
collections._sys.modules
