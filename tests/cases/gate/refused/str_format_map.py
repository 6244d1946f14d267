# refused: HC135 unsupported
# an unknown template
'{x}'.format_map(values)
