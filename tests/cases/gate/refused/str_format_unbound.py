# refused: HC135 unsupported
# a template method of the type
str.format('{0.__class__}', x)
