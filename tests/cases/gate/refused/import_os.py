# refused: HC120 dangerous, HC133 dangerous
# the system by its front door
import os
os.remove(name)
