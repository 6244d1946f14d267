# refused: HC114 dangerous
# a package's private way to os
# live: shop
from shop import os
