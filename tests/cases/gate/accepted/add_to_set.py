# accepted
# a set grows
no_thousands_columns.add(i)
