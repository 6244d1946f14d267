# refused: HC120 dangerous
# a module by import from the program
# live: shop.system_module
from shop import system_module
