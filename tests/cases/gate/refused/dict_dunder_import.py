# refused: HC110 dangerous
# internals as a key
d['__import__']('os')
