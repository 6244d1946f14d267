# refused: HC145 unsupported
# the program may keep it
self.run(self.delete(path) for path in paths)
