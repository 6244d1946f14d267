# refused: HC115 dangerous, HC120 dangerous
# the network
import urllib.request
urllib.request.urlopen(url)
