# accepted
# nothing to read
string = ''
