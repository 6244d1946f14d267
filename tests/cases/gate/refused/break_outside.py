# refused: HC102 unsupported
# no loop of the heal
break
