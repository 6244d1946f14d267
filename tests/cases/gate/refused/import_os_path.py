# refused: HC114 dangerous, HC122 dangerous, HC123 unsupported, HC133 dangerous
# binds os
import os.path
os.path.os.remove(path)
