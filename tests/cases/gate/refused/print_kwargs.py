# refused: HC115 dangerous
# another stream, maybe
print('x', **options)
