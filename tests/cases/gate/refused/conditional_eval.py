# refused: HC130 dangerous
# callables hidden in data stay refused
(eval if x else str)('1')
