# refused: HC130 dangerous
# callables hidden in data stay refused
f(*[eval, open])
