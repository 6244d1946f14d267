# accepted
# each kind
kinds = sorted({type(item).__name__ for item in items})
