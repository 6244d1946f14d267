# refused: HC130 dangerous
# subscripts are code
x[eval('1')] = 2
