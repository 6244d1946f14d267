# refused: HC134 unsupported, HC135 unsupported
# a template method as a callable
list(map('{0.__class__}'.format, xs))
