# accepted
# a pattern
import re
found = re.search(r'(\d+)\.(\d+)', version)
major, minor = (int(found.group(1)), int(found.group(2))) if found else (0, 0)
