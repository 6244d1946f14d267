# accepted
# in order
import bisect
bisect.insort(times, now)
