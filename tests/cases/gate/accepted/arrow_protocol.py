# accepted
# a protocol of libraries
result = pc_func(self._data, other.__arrow_array__())
