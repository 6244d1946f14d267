# refused: HC110 dangerous
# the builtins by name
__builtins__['eval']('1')
