# accepted
# a variable called partial
self.validate(data, partial=partial)
