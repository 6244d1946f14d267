# refused: HC115 dangerous
# runs later
loop.call_soon(self.delete, path)
