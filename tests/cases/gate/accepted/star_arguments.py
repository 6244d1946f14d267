# accepted
# a call with a built tuple
_eh_rtn = decoder(mode, *(('P',) + tuple(args[1:]) + tuple(extra)))
