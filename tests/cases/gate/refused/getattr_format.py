# refused: HC135 unsupported
# a template method by text
getattr('{0.__class__}', 'format')(x)
