# accepted
# a missing key gets its documented default
retries = DEFAULTS['retries']
