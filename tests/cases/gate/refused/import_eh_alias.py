# refused: HC123 dangerous
# replaces the return channel
import json as _eh_rtn
