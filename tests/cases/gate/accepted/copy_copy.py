# accepted
# a shallow copy
import copy
options = copy.copy(options)
