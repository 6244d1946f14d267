# refused: HC110 dangerous
# a special name as a keyword
make(__class__=x)
