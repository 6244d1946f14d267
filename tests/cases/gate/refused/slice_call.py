# refused: HC130 dangerous
# slices are code
x[open(path).read():]
