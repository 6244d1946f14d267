# accepted
# a submodule
import urllib.parse
url = urllib.parse.quote(path, safe='/')
