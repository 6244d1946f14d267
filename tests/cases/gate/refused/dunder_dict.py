# refused: HC110 dangerous
# all attributes
self.__dict__['x'] = 1
