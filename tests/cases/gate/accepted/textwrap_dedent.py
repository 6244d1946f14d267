# accepted
# indentation
import textwrap
source = textwrap.dedent(source)
