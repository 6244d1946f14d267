# accepted
# the frame's own re with a text
name = re.sub(r'\s+', ' ', name)
