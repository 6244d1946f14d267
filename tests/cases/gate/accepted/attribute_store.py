# accepted
# an attribute of an object
self.filename = ''
