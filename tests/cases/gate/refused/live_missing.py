# refused: HC122 unsupported
# not there
# live: shop
from shop import nothing_of_the_kind
