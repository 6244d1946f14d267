# refused: HC110 dangerous
# frames
currentframe()
