# refused: HC114 dangerous
# a module behind a public attribute
config.sys.exit(1)
