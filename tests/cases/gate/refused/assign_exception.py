# refused: HC143 unsupported
# keeps its meaning
ValueError = Exception
