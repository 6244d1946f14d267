# accepted
# a changed copy
from dataclasses import replace
order = replace(order, amount=0)
