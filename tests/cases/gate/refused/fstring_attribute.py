# refused: HC110 dangerous
# code inside a string is code
f'{x.__class__.__base__}'
