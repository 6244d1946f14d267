# refused: HC134 unsupported
# it may still be the builtin
if False:
    max = 1
max(paths, key=self.delete)
