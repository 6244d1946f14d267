# refused: HC121 unsupported
# a private corner of a listed package is no list entry
import json.decoder
json.decoder.scanner
