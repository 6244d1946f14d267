# accepted
# the program's own logger
logger.warning('cache %s is damaged', path)
