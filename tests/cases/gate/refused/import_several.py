# refused: HC120 dangerous
# one is enough
import json, os, math
