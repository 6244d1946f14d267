# refused: HC110 dangerous
# code
f.__code__ = g.__code__
