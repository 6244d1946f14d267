# refused: HC114 dangerous, HC122 dangerous, HC133 dangerous
# so does statistics
import statistics
statistics.sys.exit()
