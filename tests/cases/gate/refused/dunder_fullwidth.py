# refused: HC110 dangerous
# Python reads this as __class__
x.__ｃlass__.__base__
