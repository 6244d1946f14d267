# accepted
# any error of the program
try:
    name = item.name
except Exception:
    name = '?'
