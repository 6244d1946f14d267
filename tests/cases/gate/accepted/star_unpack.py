# accepted
# first and rest
first, *rest = parts or ['']
