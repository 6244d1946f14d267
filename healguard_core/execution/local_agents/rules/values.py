"""Live values of expressions in a paused frame, without running code of the program. Imports nothing of ours."""

import ast
import builtins
import operator
import types
from typing import Any, Callable, Dict, FrozenSet, Mapping, Sequence


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()
"""Stands for a value that cannot be told without running code of the program."""

SCALARS = (int, float, str, bytes, bool, complex, type(None))
_EMPTY: Dict[str, str] = {}
VIEWS = (type(_EMPTY.keys()), type(_EMPTY.values()), type(_EMPTY.items()))
_CONTAINERS = (list, tuple, dict, set, frozenset, range)
_LIMIT = 1000  # elements that are looked at
_LARGE = 10**9

_PURE_BUILTINS = frozenset(
    (
        "abs", "all", "any", "ascii", "bin", "bool", "bytes", "chr", "complex", "dict", "divmod", "enumerate",
        "filter", "float", "format", "frozenset", "hasattr", "hash", "hex", "id", "int", "isinstance", "issubclass",
        "len", "list", "map", "max", "min", "oct", "ord", "pow", "range", "repr", "reversed", "round", "set",
        "slice", "sorted", "str", "sum", "tuple", "type", "zip"
    )
)
_PURE_METHODS: Dict[type, FrozenSet[str]] = {
    str: frozenset(name for name in dir(str) if not name.startswith("_")),
    bytes: frozenset(name for name in dir(bytes) if not name.startswith("_")),
    dict: frozenset(("get", "keys", "values", "items", "copy")),
    list: frozenset(("index", "count", "copy")),
    tuple: frozenset(("index", "count")),
    set: frozenset(("union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset", "copy")),
    frozenset: frozenset(("union", "intersection", "difference", "issubset", "issuperset")),
    int: frozenset(("bit_length",)),
    float: frozenset(("is_integer",)),
}
_OPERATORS: Dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


def static_attribute(owner: Any, name: str) -> Any:
    """What ``owner.name`` holds, without calling descriptors or ``__getattr__``; UNKNOWN when that takes a call.

    For a method it is the bound method, which is not called.
    """
    if isinstance(owner, types.ModuleType):
        return vars(owner).get(name, UNKNOWN)
    found = class_attribute(type(owner), name)
    if isinstance(owner, type):
        own = class_attribute(owner, name)
        return UNKNOWN if isinstance(own, (property, classmethod, staticmethod)) else own
    if type(found) is types.MemberDescriptorType:
        try:
            return found.__get__(owner, type(owner))
        except AttributeError:
            return UNKNOWN
    if found is not UNKNOWN and hasattr(type(found), "__set__"):
        return UNKNOWN
    own = instance_names(owner)
    if name in own:
        return own[name]
    if isinstance(found, types.FunctionType):
        return types.MethodType(found, owner)
    if isinstance(found, (types.MethodDescriptorType, types.BuiltinFunctionType)):
        return found.__get__(owner, type(owner)) if isinstance(found, types.MethodDescriptorType) else found
    return UNKNOWN if found is UNKNOWN or hasattr(type(found), "__get__") else found


def class_attribute(cls: type, name: str) -> Any:
    """The raw entry for ``name`` in the first class of the resolution order that has one, else UNKNOWN."""
    for base in type.__dict__["__mro__"].__get__(cls):
        if name in base.__dict__:
            return base.__dict__[name]
    return UNKNOWN


def instance_names(owner: Any) -> Mapping[str, Any]:
    """The instance dictionary of ``owner``, empty when it has none of the ordinary kind."""
    try:
        found = object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) in (dict, types.MappingProxyType) else {}


def attribute_names(owner: Any) -> FrozenSet[str]:
    """Every attribute name that ``owner`` is known to have, without asking its ``__dir__``."""
    names = set(instance_names(owner))
    classes = [owner, type(owner)] if isinstance(owner, type) else [type(owner)]
    if isinstance(owner, types.ModuleType):
        classes = []
    for cls in classes:
        for base in type.__dict__["__mro__"].__get__(cls):
            names.update(base.__dict__)
    return frozenset(name for name in names if isinstance(name, str))


def is_plain(value: Any) -> bool:
    """Whether ``value`` is a builtin scalar, or a small builtin container of such, by exact type."""
    if type(value) in SCALARS:
        return True
    if type(value) not in _CONTAINERS or len(value) > _LIMIT:
        return False
    items = list(value) + list(value.values()) if type(value) is dict else value
    return all(
        type(item) in SCALARS or (type(item) is tuple and all(type(part) in SCALARS for part in item)) for item in items
    )


def is_iterator(value: Any) -> bool:
    """Whether going through ``value`` uses it up."""
    return value is not UNKNOWN and class_attribute(type(value), "__next__") is not UNKNOWN


class Evaluator:
    """Evaluates expressions over ``names`` as far as exact builtin types go; anything else is UNKNOWN."""

    def __init__(self, lookup: Callable[[str], Any]) -> None:
        self._lookup = lookup

    def value(self, node: ast.AST) -> Any:
        """The live value of ``node``, or UNKNOWN."""
        method = getattr(self, "_" + type(node).__name__.lower(), None)
        if method is None:
            return UNKNOWN
        try:
            return method(node)
        except Exception:
            return UNKNOWN  # the very expression that failed in the program, or one beyond this evaluator

    def is_pure_call(self, call: ast.Call) -> bool:
        """Whether running ``call`` a second time gives the same and changes nothing."""
        function = call.func
        if isinstance(function, ast.Name):
            return function.id in _PURE_BUILTINS and self._lookup(function.id) is getattr(builtins, function.id)
        if not isinstance(function, ast.Attribute):
            return False
        owner = self.value(function.value)
        if isinstance(owner, types.ModuleType):
            return owner.__name__ in ("math", "operator") and function.attr in vars(owner)
        kind = type(owner) if owner is not UNKNOWN else self.kind(function.value)
        return function.attr in _PURE_METHODS.get(kind, frozenset())

    def kind(self, node: ast.AST) -> type:
        """The exact type of ``node``'s value where it is certain, else ``object``."""
        value = self.value(node)
        if value is not UNKNOWN:
            return type(value)
        displays: Dict[type, type] = {
            ast.JoinedStr: str, ast.List: list, ast.ListComp: list, ast.Tuple: tuple, ast.Dict: dict,
            ast.DictComp: dict, ast.Set: set, ast.SetComp: set, ast.GeneratorExp: types.GeneratorType,
        }
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and self.is_pure_call(node):
            made = getattr(builtins, node.func.id)
            return made if isinstance(made, type) and made is not type else object
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left = self.kind(node.left)
            return left if left in (str, bytes, list, tuple) else object
        return displays.get(type(node), object)

    # ----------------------------------------------------------------- one method per node type

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _name(self, node: ast.Name) -> Any:
        return self._lookup(node.id)

    def _index(self, node: Any) -> Any:  # Python 3.8
        return self.value(node.value)

    def _attribute(self, node: ast.Attribute) -> Any:
        owner = self.value(node.value)
        return UNKNOWN if owner is UNKNOWN else static_attribute(owner, node.attr)

    def _subscript(self, node: ast.Subscript) -> Any:
        owner, index = self.value(node.value), self.value(node.slice)
        if type(owner) in (list, tuple, str, bytes) and type(index) is int:
            return owner[index]
        if isinstance(owner, dict) and type(owner).__getitem__ is dict.__getitem__ and type(index) in SCALARS:
            return dict.get(owner, index, UNKNOWN)
        return UNKNOWN

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        operand = self.value(node.operand)
        if type(operand) not in (int, float):
            return UNKNOWN
        return -operand if isinstance(node.op, ast.USub) else operand if isinstance(node.op, ast.UAdd) else UNKNOWN

    def _binop(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        run = _OPERATORS.get(type(node.op))
        if run is None:
            return UNKNOWN
        numbers = all(type(side) in (int, float) and abs(side) < _LARGE for side in (left, right))
        texts = type(left) is type(right) and type(left) in (str, bytes) and isinstance(node.op, ast.Add)
        return run(left, right) if numbers or texts else UNKNOWN

    def _tuple(self, node: ast.Tuple) -> Any:
        values = [self.value(element) for element in node.elts]
        return UNKNOWN if any(value is UNKNOWN for value in values) else tuple(values)

    def _list(self, node: ast.List) -> Any:
        values = [self.value(element) for element in node.elts]
        return UNKNOWN if any(value is UNKNOWN for value in values) else values

    def _dict(self, node: ast.Dict) -> Any:
        keys = [UNKNOWN if key is None else self.value(key) for key in node.keys]  # None: `**other`
        values = [self.value(value) for value in node.values]
        if any(value is UNKNOWN for value in keys + values) or any(type(key) not in SCALARS for key in keys):
            return UNKNOWN
        return {key: values[index] for index, key in enumerate(keys)}

    def _call(self, node: ast.Call) -> Any:
        if node.keywords or not self.is_pure_call(node):
            return UNKNOWN
        arguments = [self.value(argument) for argument in node.args]
        if not all(is_plain(argument) for argument in arguments):
            return self._length(node, arguments)
        if isinstance(node.func, ast.Name):
            return self._called_builtin(node.func.id, arguments)
        assert isinstance(node.func, ast.Attribute)
        owner = self.value(node.func.value)
        return getattr(owner, node.func.attr)(*arguments) if is_plain(owner) else UNKNOWN

    def _length(self, node: ast.Call, arguments: Sequence[Any]) -> Any:
        """``len`` of a builtin container is certain whatever the container holds."""
        certain = isinstance(node.func, ast.Name) and node.func.id == "len" and len(arguments) == 1
        return len(arguments[0]) if certain and type(arguments[0]) in _CONTAINERS else UNKNOWN

    def _called_builtin(self, name: str, arguments: Sequence[Any]) -> Any:
        cheap = ("abs", "bool", "float", "int", "len", "list", "max", "min", "repr", "sorted", "str", "sum", "tuple")
        return getattr(builtins, name)(*arguments) if name in cheap else UNKNOWN

