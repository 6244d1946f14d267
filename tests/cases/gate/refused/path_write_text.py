# refused: HC115 dangerous
# a file
path.write_text('x')
