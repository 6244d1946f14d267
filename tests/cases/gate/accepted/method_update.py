# accepted
# a method of an error
errors = e.update_error_dict(errors)
