# accepted
# a replacement that is certainly a text
import re
name = re.sub(r'\d+', f'<{tag}>', name)
