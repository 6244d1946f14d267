# refused: HC114 dangerous
# a module behind a public attribute
thing.builtins
