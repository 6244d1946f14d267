# refused: HC133 dangerous
# the caller's word counts for builtins only
# shadowed: os eval
os.remove(path)
