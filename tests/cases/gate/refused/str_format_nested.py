# refused: HC135 unsupported
# a format inside a format
'{:{}}'.format(x, spec)
