# refused: HC140 unsupported
# swallows everything on its way up
for x in xs:
    try:
        work(x)
    finally:
        continue
