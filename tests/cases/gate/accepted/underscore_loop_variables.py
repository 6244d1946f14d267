# accepted
# private names of the heal
for _u, _v, _d in G.edges(data=True):
    _d.setdefault(attr, default)
w = default
max_weight = max(max_weight, w)
