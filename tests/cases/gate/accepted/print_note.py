# accepted
# a note on standard output
print('skipped', name, sep=': ', end='\n')
