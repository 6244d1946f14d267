# refused: HC120 dangerous, HC133 dangerous
# outlives the heal
import threading
threading.Thread(target=callback).start()
