# refused: HC115 unsupported, HC122 dangerous
# a file
import io
io.open('x', 'w')
