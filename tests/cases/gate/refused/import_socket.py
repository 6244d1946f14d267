# refused: HC120 dangerous
# the network
import socket
socket.create_connection(('example.com', 80))
