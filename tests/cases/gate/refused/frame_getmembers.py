# refused: HC110 dangerous
# every attribute, by text
inspect.getmembers(f)
