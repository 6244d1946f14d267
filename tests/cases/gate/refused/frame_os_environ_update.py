# refused: HC133 dangerous
# the environment
os.environ.update(values)
