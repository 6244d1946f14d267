# accepted
# an object of the same class
_eh_rtn = type(self)(self.items + other.items)
