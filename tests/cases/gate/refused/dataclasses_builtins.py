# refused: HC114 dangerous, HC115 dangerous, HC122 dangerous, HC133 dangerous
# dataclasses leads to the builtins
import dataclasses
dataclasses.builtins.exec('1')
