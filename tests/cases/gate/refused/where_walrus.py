# refused: HC150 unsupported
# a condition changes nothing
# purpose: expression
(x := 1) > 0
