# refused: HC122 dangerous
# a dangerous callable that the program holds
# live: shop.cleanup
from shop import cleanup
cleanup(path)
