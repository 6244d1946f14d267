# refused: HC143 unsupported
# hides a kept builtin
try:
    work()
except ValueError as isinstance:
    pass
