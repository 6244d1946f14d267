# refused: HC132 dangerous
# getattr under another name
g = getattr
