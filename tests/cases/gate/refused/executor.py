# refused: HC115 dangerous
# runs out of sight, maybe later
loop.run_in_executor(None, self.delete, path)
