# refused: HC114 dangerous, HC122 dangerous, HC133 dangerous
# uuid leads to os
import uuid
uuid.os.remove(path)
