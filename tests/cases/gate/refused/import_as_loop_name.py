# refused: HC123 unsupported
# two meanings
import re
for re in modules:
    re.compile(x)
