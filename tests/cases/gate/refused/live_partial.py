# refused: HC122 dangerous
# looked through
# live: shop.bound_cleanup
from shop import bound_cleanup
