# refused: HC130 dangerous, HC135 unsupported
# code in a format is code
f'{x:{eval("1")}}'
