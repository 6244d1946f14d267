# refused: HC122 dangerous, HC135 unsupported
# reads attributes by text
import string
string.Formatter().format('{0.__class__}', x)
