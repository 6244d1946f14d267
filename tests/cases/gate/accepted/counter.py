# accepted
# counting
from collections import Counter
counts = Counter(words)
