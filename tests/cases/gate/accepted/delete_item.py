# accepted
# an entry that must go
del headers['content-length']
