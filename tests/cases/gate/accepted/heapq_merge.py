# accepted
# in order
import heapq
merged = list(heapq.merge(left, right))
