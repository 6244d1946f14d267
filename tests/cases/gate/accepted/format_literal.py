# accepted
# a literal template
label = '{} of {total:,}'.format(i, total=n)
