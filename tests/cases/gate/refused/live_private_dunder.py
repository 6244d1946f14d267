# refused: HC110 dangerous
# internals of a module
# live: shop
import shop
shop.__dict__
