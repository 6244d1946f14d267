# accepted
# a product
import functools, operator
total = functools.reduce(operator.mul, sizes, 1)
