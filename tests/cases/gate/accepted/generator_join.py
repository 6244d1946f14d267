# accepted
# used up at once
text = ', '.join(str(x) for x in items if x)
