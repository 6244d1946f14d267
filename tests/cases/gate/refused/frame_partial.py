# refused: HC134 unsupported
# the program's own functools
partial(cleanup, path)()
