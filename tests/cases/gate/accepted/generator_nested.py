# accepted
# used up with the one around it
total = sum(x for row in (r.cells for r in rows) for x in row)
