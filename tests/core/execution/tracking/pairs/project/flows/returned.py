from lost import lost
from vault import wire
def _asked():
    return lost['r']
def unsafe_caller_static():
    total = _asked() + 1
    wire(total)
