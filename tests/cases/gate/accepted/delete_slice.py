# accepted
# a tail that must go
del rows[10:]
