# refused: HC135 unsupported
# a template method where it could be caught
f = x.format if x.format == y else None
