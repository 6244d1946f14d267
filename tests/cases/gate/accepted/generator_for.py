# accepted
# used up at once
for name in (n.strip() for n in names):
    seen.add(name)
