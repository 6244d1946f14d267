# refused: HC120 dangerous
# the process's signals
import signal
signal.alarm(1)
