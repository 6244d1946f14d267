# accepted
# used up at once
self.items.extend(item.copy() for item in items)
