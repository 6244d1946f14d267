# refused: HC126 unsupported
# a module of the program is shared
# live: shop
import shop
shop.LIMIT = 3
