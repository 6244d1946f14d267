# accepted
# a generator made a list
values = list(values)
