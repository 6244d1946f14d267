# refused: HC130 dangerous
# the frame's names
locals()['x'] = 1
