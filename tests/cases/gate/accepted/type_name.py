# accepted
# the name of a class
subarr = np.array([float('nan') if type(v).__name__ == 'NAType' else v for v in arr], dtype=dtype)
