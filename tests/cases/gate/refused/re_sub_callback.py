# refused: HC134 unsupported
# calls out of sight
import re
re.sub('x', callback, text)
