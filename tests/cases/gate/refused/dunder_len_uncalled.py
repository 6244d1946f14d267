# refused: HC110 dangerous
# a special method as a value
size = x.__len__
