# refused: HC110 dangerous, HC120 dangerous
# every object of the process
import gc
gc.get_objects()
