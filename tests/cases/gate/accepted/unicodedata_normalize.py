# accepted
# letters
import unicodedata
key = unicodedata.normalize('NFC', key)
