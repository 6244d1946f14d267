# refused: HC110 dangerous
# a special name
__name__ = 'other'
