# accepted
# one name deep
# live: shop
import shop.prices
amount = shop.prices.total(items)
