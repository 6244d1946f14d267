# refused: HC142 unsupported
# takes all memory once converted
from decimal import Decimal
x = int(Decimal('1e999999999'))
