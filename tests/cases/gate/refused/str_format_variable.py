# refused: HC135 unsupported
# an unknown template
template.format(x)
