# refused: HC120 dangerous, HC133 dangerous
# every module that is loaded
import sys
sys.modules['os'].remove(path)
