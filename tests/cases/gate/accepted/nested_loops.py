# accepted
# continue and break
for row in rows:
    if not row:
        continue
    for cell in row:
        if cell is None:
            break
