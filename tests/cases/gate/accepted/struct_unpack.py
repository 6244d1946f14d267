# accepted
# a header
import struct
width, height = struct.unpack('>II', header[:8])
