# refused: HC122 unsupported
# a module by import from the program
# live: shop.plain_module
from shop import plain_module
