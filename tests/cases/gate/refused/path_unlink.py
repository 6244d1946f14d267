# refused: HC115 dangerous
# a file
path.unlink()
