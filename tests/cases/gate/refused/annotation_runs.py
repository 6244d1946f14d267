# refused: HC110 dangerous
# annotations are code
x: __import__('os').system('id') = 1
