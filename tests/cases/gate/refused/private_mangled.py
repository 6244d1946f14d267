# refused: HC112 unsupported
# not mangled in a heal
self.__cache = {}
