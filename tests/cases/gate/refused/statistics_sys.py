# refused: HC114 dangerous, HC122 dangerous
# so does statistics
import statistics
statistics.sys.exit()
