# accepted
# a comment at the end
key, value = next(iter(result.items()))  # store a known pair again
