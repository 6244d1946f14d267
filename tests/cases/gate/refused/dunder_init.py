# refused: HC110 dangerous
# runs a constructor on a live object
x.__init__()
