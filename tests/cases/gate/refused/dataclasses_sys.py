# refused: HC122 dangerous
# dataclasses leads to sys
from dataclasses import sys
sys.exit()
