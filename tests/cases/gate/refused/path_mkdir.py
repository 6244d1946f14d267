# refused: HC115 dangerous
# a directory
path.mkdir(parents=True)
