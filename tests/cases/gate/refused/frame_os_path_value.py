# refused: HC133 dangerous
# a module as a value
p = os.path
