# refused: HC110 dangerous, HC115 dangerous
# the import system
__loader__.load_module('os')
