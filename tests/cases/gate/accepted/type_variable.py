# accepted
# a variable that is called like a builtin
type = 'unknown'
