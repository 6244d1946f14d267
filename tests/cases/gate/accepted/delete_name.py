# accepted
# a name that must go
del temporary
