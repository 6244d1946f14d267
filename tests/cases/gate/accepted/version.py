# accepted
# a library's version
old = np.__version__ < '2'
