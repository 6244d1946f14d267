# refused: HC102 unsupported, HC133 dangerous
# what is inside is still seen
f = lambda: os.remove(path)
