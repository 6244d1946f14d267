# refused: HC115 dangerous
# another stream
print('x', file=stream)
