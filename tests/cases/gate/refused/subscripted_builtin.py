# refused: HC130 dangerous
# a file
{'o': open}['o'](path)
