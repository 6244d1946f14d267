# refused: HC134 unsupported
# the program's own collections
defaultdict(self.connect)
