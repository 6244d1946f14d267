# refused: HC110 dangerous, HC115 unsupported, HC120 dangerous
# the private twin of a module
import _io
_io.open('x', 'w')
