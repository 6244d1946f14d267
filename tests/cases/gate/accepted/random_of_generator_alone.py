# accepted
# the same without knowing the frame
_eh_rtn = self.generator.random.randrange(int(min), int(max) + 1, step)
