# accepted
# the program's own generator, with variables called min and max
# shadowed: min max
_eh_rtn = self.generator.random.randrange(int(min), int(max) + 1, step)
