# refused: HC130 dangerous
# a file
open('x', 'w').write('y')
