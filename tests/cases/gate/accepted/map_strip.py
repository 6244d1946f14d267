# accepted
# a method of a type mapped
parts = list(map(str.strip, text.split(',')))
