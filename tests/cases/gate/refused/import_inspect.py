# refused: HC110 dangerous, HC111 dangerous, HC120 dangerous
# frames
import inspect
inspect.currentframe().f_back.f_globals
