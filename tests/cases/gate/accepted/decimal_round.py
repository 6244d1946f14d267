# accepted
# money
from decimal import ROUND_HALF_UP, Decimal
amount = Decimal(str(amount)).quantize(Decimal('0.01'), rounding=ROUND_HALF_UP)
