# refused: HC133 dangerous
# importing by text
importlib.reload(module)
