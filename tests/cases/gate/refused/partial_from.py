# refused: HC122 dangerous
# binds a function out of sight
from functools import partial
partial(cleanup, path)()
