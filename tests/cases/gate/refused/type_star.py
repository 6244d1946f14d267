# refused: HC132 dangerous
# arguments out of sight
type(*parts)
