# refused: HC111 dangerous
# a module's names
f.func_globals
