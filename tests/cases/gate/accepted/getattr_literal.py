# accepted
# a default
encoding = getattr(stream, 'encoding', None) or 'utf-8'
