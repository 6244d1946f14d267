# accepted
# a variable called gc
gc.set_linewidth(1.0)
self.gc.restore()
