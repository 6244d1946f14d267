# accepted
# keys to text
config = {str(key): value for key, value in config.items()}
