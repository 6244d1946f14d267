# refused: HC142 unsupported
# takes all memory
x = '%1000000000d' % 1
