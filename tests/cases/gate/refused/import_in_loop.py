# refused: HC120 dangerous
# wherever it stands
for x in xs:
    if x:
        from subprocess import run
