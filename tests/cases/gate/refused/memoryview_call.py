# refused: HC131 unsupported
# writes past the tracking
memoryview(buffer)[0] = 1
