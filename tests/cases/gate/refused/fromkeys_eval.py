# refused: HC130 dangerous
# builtins as data
dict.fromkeys('a', eval)
