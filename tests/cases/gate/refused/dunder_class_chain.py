# refused: HC110 dangerous
# the classic
().__class__.__base__.__subclasses__()
