# accepted
# an error's cause
reason = str(error.__cause__ or error)
