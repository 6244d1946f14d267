# refused: HC102 unsupported
# names are assigned as they are
nonlocal x
