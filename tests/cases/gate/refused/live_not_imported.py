# refused: HC121 unsupported
# the program did not import it
# live: shop
import warehouse
