# refused: HC133 dangerous
# every module
sys.modules['os'].remove(path)
