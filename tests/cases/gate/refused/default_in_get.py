# refused: HC130 dangerous
# callables hidden in data stay refused
d['run'] = exec
