# accepted
# a method called eval
_eh_rtn = cls.eval(arg)
