# refused: HC142 unsupported
# takes all memory
x = f'{1:1000000000}'
