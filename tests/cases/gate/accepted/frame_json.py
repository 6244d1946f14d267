# accepted
# the frame's own json
data = json.loads(text or '{}')
