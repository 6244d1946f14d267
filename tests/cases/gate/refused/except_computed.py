# refused: HC140 unsupported
# which errors is out of sight
try:
    work()
except errors[0]:
    pass
