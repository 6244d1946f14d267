# refused: HC115 dangerous, HC120 dangerous
# the same under another name
import os as operating
operating.unlink(path)
