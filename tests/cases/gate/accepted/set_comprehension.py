# accepted
# names seen
seen = {item.name for item in items if item is not None}
