# refused: HC111 dangerous, HC120 dangerous, HC133 dangerous
# frames
import inspect
inspect.currentframe().f_back.f_globals
