# refused: HC110 dangerous
# rebuilds from functions
x.__reduce_ex__(2)
