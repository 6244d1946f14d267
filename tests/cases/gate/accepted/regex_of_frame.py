# accepted
# the frame's own re
parts = re.split(r'\s*,\s*', text)
