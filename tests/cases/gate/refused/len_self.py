# refused: HC110 dangerous, HC115 dangerous
# a builtin's module
len.__self__.eval('1')
