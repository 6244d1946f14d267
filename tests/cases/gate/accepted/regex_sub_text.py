# accepted
# a replacement text
import re
name = re.sub(r'\W+', '_', name)
