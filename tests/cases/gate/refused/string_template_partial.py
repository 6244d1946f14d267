# refused: HC130 dangerous, HC133 dangerous
# binds a function out of sight
f = functools.partial(open, 'x')
