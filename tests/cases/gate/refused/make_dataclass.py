# refused: HC122 dangerous
# makes a class
from dataclasses import make_dataclass
P = make_dataclass('P', ['x'])
