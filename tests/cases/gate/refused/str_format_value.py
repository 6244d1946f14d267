# refused: HC135 unsupported
# a template method as a value
f = '{0.__class__}'.format
f(x)
