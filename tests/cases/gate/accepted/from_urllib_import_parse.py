# accepted
# the same in the other form
from urllib import parse
host = parse.urlsplit(url).hostname or ''
