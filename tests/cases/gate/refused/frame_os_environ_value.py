# refused: HC133 dangerous
# the environment as a value
env = os.environ
