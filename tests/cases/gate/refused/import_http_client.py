# refused: HC120 dangerous
# the network
import http.client
