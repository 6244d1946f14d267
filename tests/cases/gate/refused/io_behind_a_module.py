# refused: HC133 dangerous
# io through a module of the frame
logging.io.FileIO('x', 'w')
