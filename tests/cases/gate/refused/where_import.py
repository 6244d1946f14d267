# refused: HC150 unsupported
# one expression
# purpose: expression
import json
