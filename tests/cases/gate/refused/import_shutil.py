# refused: HC115 dangerous, HC120 dangerous
# a tree of files
import shutil
shutil.rmtree(p)
