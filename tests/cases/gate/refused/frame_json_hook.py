# refused: HC134 unsupported
# the program's own json
json.loads(text, object_hook=callback)
