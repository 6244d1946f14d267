# refused: HC132 unsupported
# under another name
p = print
