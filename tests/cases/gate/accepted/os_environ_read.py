# accepted
# the environment may be read
home = os.environ.get('HOME', '')
