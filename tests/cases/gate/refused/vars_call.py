# refused: HC130 dangerous
# all attributes
vars(self)['x'] = 1
