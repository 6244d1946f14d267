# refused: HC134 unsupported
# called at the next missing key
groups.default_factory = self.connect
