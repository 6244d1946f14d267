# refused: HC120 dangerous, HC133 dangerous
# the system under its other name
import posix
posix.remove(path)
