# refused: HC143 unsupported
# keeps its meaning
isinstance = always
