# accepted
# one name deep
# live: shop
import shop.prices as prices
amount = amount * (1 + prices.RATE)
