# refused: HC134 unsupported
# calls out of sight
import heapq
heapq.nlargest(3, xs, key=cleanup)
