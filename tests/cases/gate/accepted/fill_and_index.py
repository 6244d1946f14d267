# accepted
# a method, then an item
self.fill_cache(item + 1)
_eh_rtn = self.row_cache[item]
