# refused: HC114 dangerous, HC115 dangerous
# enum keeps the builtins as bltns
re.enum.bltns.eval('1')
