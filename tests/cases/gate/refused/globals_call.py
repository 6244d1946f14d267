# refused: HC130 dangerous
# a module's names
globals()['FLAG'] = True
