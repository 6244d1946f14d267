# refused: HC122 unsupported
# has no end
import itertools
for i in itertools.count():
    pass
