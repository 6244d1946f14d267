# refused: HC122 unsupported
# one name deep
# live: shop
import shop
shop.plain_module.x
