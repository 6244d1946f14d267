# refused: HC114 dangerous
# os behind os.path
os.path.os.remove(path)
