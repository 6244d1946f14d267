# accepted
# a middle value
import statistics
middle = statistics.median(values) if values else None
