# refused: HC120 dangerous
# the guard's own state
from healguard_core.execution import hooks
hooks.disable()
