# accepted
# the statement is not needed here
pass
