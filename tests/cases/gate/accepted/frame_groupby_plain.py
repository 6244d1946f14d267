# accepted
# the frame's own itertools
runs = [(k, list(g)) for k, g in groupby(rows)]
