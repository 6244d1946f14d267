# refused: HC130 dangerous
# a pager
help(x)
