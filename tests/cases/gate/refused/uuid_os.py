# refused: HC114 dangerous, HC122 dangerous
# uuid leads to os
import uuid
uuid.os.remove(path)
