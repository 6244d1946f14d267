# accepted
# used up at once
found = next((row for row in rows if row.id == key), None)
