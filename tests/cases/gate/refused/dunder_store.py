# refused: HC110 dangerous
# changes a special attribute
x.__class__ = Other
