# refused: HC133 dangerous
# the module as a value
o = os
