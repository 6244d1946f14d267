# refused: HC120 dangerous
# wherever it stands
try:
    import os
except ImportError:
    pass
