# refused: HC110 dangerous
# binds by hand
f.__get__(x)
