# refused: HC122 dangerous
# makes a function
import types
types.FunctionType(code, {})
