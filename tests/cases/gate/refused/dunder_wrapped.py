# refused: HC110 dangerous
# the function behind
f.__wrapped__(path)
