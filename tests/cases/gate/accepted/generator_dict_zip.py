# accepted
# handed on and used up
table = dict(zip((k.lower() for k in keys), (v.strip() for v in values)))
