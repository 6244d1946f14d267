# accepted
# classes among values
classes = [v for v in values if isinstance(v, type)]
