# refused: HC114 dangerous, HC133 dangerous
# a module that a module hides
self._os.remove(path)
