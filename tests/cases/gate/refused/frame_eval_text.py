# refused: HC115 dangerous
# a library that runs text
frame.eval('@os.system("id")')
