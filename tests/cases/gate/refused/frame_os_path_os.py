# refused: HC114 dangerous, HC133 dangerous
# os behind os.path
os.path.os.remove(path)
