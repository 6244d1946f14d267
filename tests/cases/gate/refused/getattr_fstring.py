# refused: HC132 dangerous
# the name is put together
getattr(x, f'__{part}__')
