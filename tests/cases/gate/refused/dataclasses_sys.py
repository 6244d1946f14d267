# refused: HC122 dangerous, HC133 dangerous
# dataclasses leads to sys
from dataclasses import sys
sys.exit()
