# refused: HC124 unsupported
# another name for a module is out of sight
import json
j = json
j.codecs
