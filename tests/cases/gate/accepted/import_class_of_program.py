# accepted
# a class that the program has loaded
# live: shop
from shop import Cart
cart = Cart()
cart.items = []
