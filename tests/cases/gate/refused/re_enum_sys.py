# refused: HC114 dangerous, HC122 unsupported, HC133 dangerous
# re leads to sys
import re
re.enum.sys.modules['os'].remove(path)
