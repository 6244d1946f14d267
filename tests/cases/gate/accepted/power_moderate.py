# accepted
# ordinary numbers
mask = 2 ** 64 - 1
ns = seconds * 10 ** 9
