# refused: HC130 dangerous
# text as code
x = eval('1 + 1')
