# refused: HC102 unsupported
# asynchronous
[x async for x in y]
