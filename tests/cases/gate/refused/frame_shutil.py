# refused: HC115 dangerous
# a tree of files
shutil.rmtree(path)
