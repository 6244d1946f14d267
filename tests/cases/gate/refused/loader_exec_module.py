# refused: HC115 dangerous
# the import system
spec.loader.exec_module(module)
