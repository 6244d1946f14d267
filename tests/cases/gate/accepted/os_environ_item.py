# accepted
# the environment may be read
home = os.environ['HOME'] if 'HOME' in os.environ else ''
