# refused: HC130 dangerous, HC150 unsupported
# dangerous as ever
# purpose: expression
eval('1') == 1
