# refused: HC134 unsupported
# maybe a function
sorted(paths, **options)
