# refused: HC102 unsupported
# asynchronous
async def f():
    async for x in y:
        await x
