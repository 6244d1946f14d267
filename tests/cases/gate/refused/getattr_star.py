# refused: HC132 dangerous
# arguments out of sight
getattr(*pair)
