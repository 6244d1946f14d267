# accepted
# numbered
for number, row in enumerate(rows, start=1):
    row['number'] = number
