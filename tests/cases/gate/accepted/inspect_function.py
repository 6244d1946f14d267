# accepted
# a function called inspect
mapper = inspect(model)
