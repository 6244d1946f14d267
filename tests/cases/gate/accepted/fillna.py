# accepted
# a chain of methods
_eh_rtn = self.fillna(True).astype(dtype)
