# accepted
# used up at once
first, second = (int(p) for p in text.split(','))
