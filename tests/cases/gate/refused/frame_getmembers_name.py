# refused: HC110 dangerous
# every attribute, by text
dict(getmembers(f))['x']
