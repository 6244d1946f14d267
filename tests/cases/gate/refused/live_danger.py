# refused: HC122 dangerous
# a dangerous callable that the program holds
# live: shop.run_text
from shop import run_text
