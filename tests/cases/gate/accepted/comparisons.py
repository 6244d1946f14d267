# accepted
# chained
inside = 0 <= x < width and not (y is None or y not in rows)
