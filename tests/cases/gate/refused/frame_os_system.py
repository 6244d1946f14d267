# refused: HC133 dangerous
# the frame's own os
os.system('id')
