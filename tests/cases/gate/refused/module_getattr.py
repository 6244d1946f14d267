# refused: HC124 unsupported
# a module's attribute by text
import json
getattr(json, 'codecs')
