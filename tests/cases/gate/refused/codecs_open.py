# refused: HC115 unsupported, HC122 dangerous
# a file
import codecs
codecs.open('x', 'w')
