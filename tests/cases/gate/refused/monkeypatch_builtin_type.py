# refused: HC126 dangerous
# for the whole process
str.join = fake
