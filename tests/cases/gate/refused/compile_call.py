# refused: HC130 dangerous
# text as code
compile('1', 'x', 'eval')
