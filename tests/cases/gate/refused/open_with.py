# refused: HC130 dangerous
# a file
with open(path) as stream:
    text = stream.read()
