# refused: HC114 dangerous, HC133 dangerous
# a module behind a public attribute
config.sys.exit(1)
