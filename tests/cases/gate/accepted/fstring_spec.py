# accepted
# formats
label = f'{name!r:>20} {value:.3f} {count=}'
