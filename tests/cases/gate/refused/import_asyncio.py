# refused: HC120 dangerous
# runs out of sight
import asyncio
asyncio.run(task)
