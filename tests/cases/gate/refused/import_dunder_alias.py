# refused: HC123 dangerous
# replaces an interpreter name
import json as __builtins__
