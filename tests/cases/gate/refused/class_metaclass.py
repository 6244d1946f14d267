# refused: HC102 unsupported, HC130 dangerous
# a class
class Fake(metaclass=Meta):
    x = eval
