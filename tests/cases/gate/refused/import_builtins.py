# refused: HC115 dangerous, HC120 dangerous, HC133 dangerous
# the builtins themselves
import builtins
builtins.eval('1')
