# accepted
# one name deep
# live: shop
import shop
amount = min(amount, shop.LIMIT)
