# refused: HC110 dangerous
# internals by a path of keys
for key in ['__builtins__', 'open']:
    namespace = namespace[key]
