# accepted
# numbers that are none
import math
values = [0.0 if math.isnan(v) else v for v in values]
