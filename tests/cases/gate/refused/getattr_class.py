# refused: HC110 dangerous
# an internal by text
getattr(x, '__class__')
