# refused: HC132 dangerous
# makes a class
X = type('X', (), {'go': f})
