# accepted
# return on one way, raise on the other
if isinstance(value, str):
    _eh_rtn = value.strip()
else:
    _eh_raise = TypeError('text expected')
