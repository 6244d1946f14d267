# refused: HC110 dangerous
# each step is checked
getattr(getattr(x, 'a'), '__globals__')
