# refused: HC114 dangerous, HC122 dangerous
# one underscore does not hide it
import collections
collections._sys.modules
