# accepted
# a text's method mapped
rows = list(map(', '.join, rows))
