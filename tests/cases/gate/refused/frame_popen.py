# refused: HC115 dangerous
# the program's own from-import
Popen(['id'])
