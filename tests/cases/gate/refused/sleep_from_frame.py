# refused: HC133 unsupported
# waits
time.sleep(5)
