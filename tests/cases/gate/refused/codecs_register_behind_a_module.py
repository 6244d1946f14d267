# refused: HC133 dangerous
# lasts for the whole process
json.codecs.register(search)
