# refused: HC110 dangerous, HC111 dangerous
# cells
f.__closure__[0].cell_contents
