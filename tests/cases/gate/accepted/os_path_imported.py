# accepted
# paths as texts
from os.path import splitext
stem, suffix = splitext(name)
