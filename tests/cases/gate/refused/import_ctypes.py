# refused: HC115 dangerous, HC120 dangerous
# native code
import ctypes
ctypes.CDLL(None).system(b'id')
