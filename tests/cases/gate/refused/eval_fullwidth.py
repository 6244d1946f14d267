# refused: HC130 dangerous
# Python reads this as eval
ｅval('1')
