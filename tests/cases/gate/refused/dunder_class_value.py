# refused: HC110 dangerous
# a type under another name
k = x.__class__
