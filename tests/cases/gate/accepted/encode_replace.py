# accepted
# bytes from a number
value = str(value).encode('ascii', 'replace')
