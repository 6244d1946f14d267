# refused: HC110 dangerous, HC122 dangerous
# attributes by text
import operator
operator.attrgetter('__class__.__base__')(x)
