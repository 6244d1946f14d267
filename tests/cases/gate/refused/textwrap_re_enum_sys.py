# refused: HC114 dangerous, HC122 unsupported
# and textwrap
import textwrap
textwrap.re.enum.sys
