# refused: HC130 dangerous
# text as code as a value
d.get('x', eval)('1')
