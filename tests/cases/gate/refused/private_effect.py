# refused: HC115 dangerous
# the same with an underscore
tools._makedirs(path)
