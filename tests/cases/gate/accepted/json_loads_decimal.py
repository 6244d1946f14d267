# accepted
# exact numbers
import json
from decimal import Decimal
data = json.loads(text, parse_float=Decimal)
