# refused: HC120 dangerous
# files
import tempfile
tempfile.mkdtemp()
