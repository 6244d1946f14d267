# refused: HC130 dangerous, HC134 unsupported
# text as code as a callable
list(map(eval, texts))
