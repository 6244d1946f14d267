# refused: HC133 dangerous
# runs out of sight
asyncio.run(main())
