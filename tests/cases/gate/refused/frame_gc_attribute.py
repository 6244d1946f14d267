# refused: HC110 dangerous
# every object
tools.gc.get_objects()
