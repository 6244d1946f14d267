# refused: HC134 unsupported
# calls out of sight
from collections import defaultdict
d = defaultdict(self.connect)
