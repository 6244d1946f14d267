# accepted
# modules of the frame are ordinary names
klass = libhashtable.Int64Factorizer
lk = np.asarray(lk, dtype='int64')
rk = np.asarray(rk, dtype='int64')
