# refused: HC120 dangerous
# a module by its parent
from concurrent import futures
