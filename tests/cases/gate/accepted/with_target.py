# accepted
# a bound name
with errstate(divide='ignore') as state:
    ratio = a / b
