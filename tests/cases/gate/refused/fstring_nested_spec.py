# refused: HC135 unsupported
# a format that is computed
f'{x:{spec}}'
