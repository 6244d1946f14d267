# refused: HC132 dangerous
# the name is put together
getattr(x, '__cl' + 'ass__')
