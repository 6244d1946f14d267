# accepted
# an old template
label = '%s: %05.1f' % (name, value)
