# refused: HC133 dangerous
# the network
socket.create_connection(address)
