# accepted
# a function that the frame has
_eh_rtn = deepcopy(self.mask)
