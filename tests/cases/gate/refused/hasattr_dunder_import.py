# refused: HC110 dangerous
# the name alone says enough
hasattr(x, '__import__')
