# accepted
# searched
for row in rows:
    if row.id == wanted:
        break
else:
    row = None
