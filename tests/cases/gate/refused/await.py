# refused: HC102 unsupported
# asynchronous
await task
