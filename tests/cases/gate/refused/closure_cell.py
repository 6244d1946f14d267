# refused: HC111 dangerous
# a closure's content
cell.cell_contents = 1
