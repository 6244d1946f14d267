# refused: HC122 unsupported
# waits
import time
time.sleep(60)
