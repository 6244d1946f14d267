# refused: HC134 unsupported, HC135 unsupported
# a template method as a callable
list(map(str.format, templates, xs))
