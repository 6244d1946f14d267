# refused: HC133 dangerous
# a file
logging.FileHandler('x')
