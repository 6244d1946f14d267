# accepted
# a function that the program has loaded
# live: shop
from shop import total
amount = total(items)
