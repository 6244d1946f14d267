# refused: HC122 dangerous
# binds a function out of sight
import functools
f = functools.partial(cleanup, path)
