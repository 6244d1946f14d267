# refused: HC110 dangerous
# a special method of a class
list.__class_getitem__(int)
