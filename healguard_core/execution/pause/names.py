"""What an expression means in a frame, found out without running any code of the program. Standard library only.

Names are looked up where Python would look them up; attributes only where reading them is a plain dictionary
access. Whatever would call something (a property, a module's ``__getattr__``, a function) is `UNKNOWN`.
"""

import ast
import builtins
import types
from typing import Any, Callable, Dict, FrozenSet, List, Mapping, Optional, Tuple

from . import valuestack

UNKNOWN = object()
"""The value of everything that cannot be known without running code."""

_CO_OPTIMIZED = 0x1
_derives: Callable[[type, type], bool] = type.__subclasscheck__  # reads the order alone; no metaclass is asked
_LASTING = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
_PLAIN = (bool, int, float, str, bytes, type(None), tuple)
_MODULE_ENTRIES: Any = vars(types.ModuleType)["__dict__"]
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)


class Flying:
    """Stands for the exception in flight where an expression names it. ``cls`` is its class, if known."""

    def __init__(self, cls: Optional[type]) -> None:
        self.cls = cls


Guard = Tuple[Dict[str, Any], str, Any]
LocalGuard = Tuple[str, bool, Any]
"""A local variable, whether its class alone counted, and the value or the class that it had."""


class Trail:
    """What an answer depended on. ``guards``: entries of module namespaces, each with the value found there.

    ``local``: the same for variables of the frame. ``loose``: it depended on something else as well, so that it cannot
    be remembered.
    """

    def __init__(self) -> None:
        self.guards: List[Guard] = []
        self.local: List[LocalGuard] = []
        self.managers: List[Any] = []  # guards of with blocks; see `exits`
        self.loose = False

    def found_local(self, frame: types.FrameType, name: str, value: Any) -> None:
        """Note that the variable ``name`` of ``frame`` was asked for. Of most objects nothing is remembered."""
        cls = type(value)
        if name not in frame.f_code.co_varnames or name in frame.f_code.co_cellvars or not valuestack.readable():
            self.loose = True
        elif cls in _SMALL or (cls in (str, bytes) and len(value) < _SHORT):
            self.local.append((name, False, value))
        elif cls in _SEALED:  # whoever compares such objects with each other makes it loose
            self.local.append((name, True, cls))
        else:
            self.loose = True

    def found(self, space: Dict[str, Any], name: str, value: Any) -> None:
        """Note that ``space[name]`` was asked for. Values that a program may want to see die are not kept."""
        if value is UNKNOWN or is_class(value) or type(value) in _PLAIN or type(value) in _LASTING:
            self.guards.append((space, name, value))
        else:
            self.loose = True


_SMALL = (bool, int, float, type(None))
_SHORT = 100
_SEALED = (list, dict, set, frozenset, bytearray)  # what they can do is told by their class


def hold_local(guards: List[LocalGuard], frame: types.FrameType) -> bool:
    """Whether every guarded variable of ``frame`` is as it was."""
    for name, by_class, value in guards:
        now = valuestack.variable(frame, name, UNKNOWN)
        if (type(now) if by_class else now) is not value:
            return False
    return True


def hold(guards: List[Guard]) -> bool:
    """Whether every guarded entry still has the value that it had."""
    for space, name, value in guards:  # noqa: SIM110 - a generator would cost more than the rest
        if dict.get(space, name, UNKNOWN) is not value:
            return False
    return True


class Names:
    """A name's value seen from one place in the program. ``changed``: names that get a new value before use."""

    def __init__(self, lookup: Callable[[str, Trail], Any], changed: FrozenSet[str] = frozenset(),
                 known: Optional[Mapping[str, Any]] = None, trail: Optional[Trail] = None) -> None:
        self._lookup = lookup
        self._changed = changed
        self._known = known or {}
        self.trail = trail or Trail()

    def get(self, name: str) -> Any:
        """The value of ``name``, or `UNKNOWN`."""
        if name in self._known:
            return self._known[name]
        if name in self._changed:
            return UNKNOWN
        return self._lookup(name, self.trail)

    def within(self, changed: FrozenSet[str], known: Mapping[str, Any]) -> "Names":
        """The same place with some names rebound: ``known`` to these values, ``changed`` to unknown ones."""
        merged = dict(self._known)
        for name in changed:
            merged.pop(name, None)
        merged.update(known)
        return Names(self._lookup, self._changed | changed, merged, self.trail)


def of_frame(frame: types.FrameType) -> Names:
    """Names as the code of a live frame sees them now."""
    return Names(lambda name, trail: _frame_value(frame, name, trail))


def of_function(function: types.FunctionType, known: Mapping[str, Any]) -> Names:
    """Names as the body of ``function`` would see them; ``known`` holds its parameters."""
    code = function.__code__
    own = frozenset(code.co_varnames + code.co_cellvars) - frozenset(known)
    return Names(lambda name, trail: _function_value(function, name, trail), own, known)


def _frame_value(frame: types.FrameType, name: str, trail: Trail) -> Any:
    code = frame.f_code
    if code.co_flags & _CO_OPTIMIZED:
        if name in code.co_varnames or name in code.co_cellvars or name in code.co_freevars:
            value = local_value(frame, name)
            trail.found_local(frame, name, value)
            return value
    elif frame.f_locals is not frame.f_globals:
        trail.loose = True
        if name in frame.f_locals:
            return frame.f_locals[name] if type(frame.f_locals) is dict else UNKNOWN
    return _global_value(frame.f_globals, frame.f_builtins, name, trail)


def local_value(frame: types.FrameType, name: str) -> Any:
    """The value of a local, cell or free variable, or `UNKNOWN` while it is unbound.

    Reads the slot itself where the interpreter's layout is known, because asking for ``f_locals`` leaves a
    snapshot behind that keeps the program's objects alive (before Python 3.13).
    """
    if valuestack.readable():
        value = valuestack.variable(frame, name, UNKNOWN)
        if type(value) is types.CellType and name in frame.f_code.co_cellvars + frame.f_code.co_freevars:
            return _cell_value(value)
        return value
    return dict.get(frame.f_locals, name, UNKNOWN) if type(frame.f_locals) is dict else _proxy_value(frame, name)


def _proxy_value(frame: types.FrameType, name: str) -> Any:
    try:
        return frame.f_locals[name]
    except KeyError:
        return UNKNOWN


def _cell_value(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return UNKNOWN


def _function_value(function: types.FunctionType, name: str, trail: Trail) -> Any:
    if name in function.__code__.co_freevars and function.__closure__:
        trail.loose = True
        return _cell_value(function.__closure__[function.__code__.co_freevars.index(name)])
    return _global_value(function.__globals__, vars(builtins), name, trail)


def _global_value(scope: Dict[str, Any], builtin: Any, name: str, trail: Trail) -> Any:
    value = dict.get(scope, name, UNKNOWN)
    trail.found(scope, name, value)
    if value is UNKNOWN and type(builtin) is dict:
        value = dict.get(builtin, name, UNKNOWN)
        trail.found(builtin, name, value)
    return value


# --------------------------------------------------------------------------- attributes and classes


def mro(cls: type) -> Tuple[type, ...]:
    """The method resolution order, read without the metaclass being asked."""
    return type.__dict__["__mro__"].__get__(cls)  # type: ignore[no-any-return]


def is_class(value: Any) -> bool:
    """Whether ``value`` really is a class; its ``__class__`` is not asked."""
    return derives(type(value), type)


def derives(cls: type, base: type) -> bool:
    """Whether ``except base`` catches an exception of class ``cls``: what the interpreter does, on the order alone."""
    return _derives(base, cls)


def class_attribute(cls: type, name: str) -> Any:
    """The raw entry for ``name`` in the first class of the order that has one, or `UNKNOWN`."""
    for base in mro(cls):
        entry = type.__dict__["__dict__"].__get__(base).get(name, UNKNOWN)
        if entry is not UNKNOWN:
            return entry
    return UNKNOWN


def defining_class(cls: type, name: str) -> Optional[type]:
    """The class whose body defines what instances of ``cls`` have under ``name``."""
    for base in mro(cls):
        if name in type.__dict__["__dict__"].__get__(base):
            return base
    return None


def instance_entries(value: Any) -> Dict[str, Any]:
    """The instance dictionary of ``value``, or an empty one."""
    for base in mro(type(value)):
        slot = type.__dict__["__dict__"].__get__(base).get("__dict__")
        if type(slot) is types.GetSetDescriptorType:
            entries = slot.__get__(value)
            return entries if derives(type(entries), dict) else {}
    return {}


def attribute(value: Any, name: str) -> Any:
    """``value.name`` where that is a plain look-up; methods come back bound. `UNKNOWN` otherwise."""
    if value is UNKNOWN:
        return UNKNOWN
    if type(value) is Flying:
        return value.cls if name == "__class__" and value.cls is not None else UNKNOWN
    if derives(type(value), types.ModuleType):
        return dict.get(_module_entries(value), name, UNKNOWN)
    if is_class(value):
        return _unbound(class_attribute(value, name))
    entry = class_attribute(type(value), name)
    if class_attribute(type(value), "__getattribute__") is not object.__dict__["__getattribute__"]:
        return UNKNOWN
    if entry is UNKNOWN or not _overrides(entry):
        entry = dict.get(instance_entries(value), name, entry)
        if name in instance_entries(value):
            return entry
    if type(entry) is types.FunctionType:
        return types.MethodType(entry, value)
    if type(entry) is types.MemberDescriptorType:
        return _slot_value(entry, value)
    return _unbound(entry)


def _module_entries(module: Any) -> Dict[str, Any]:
    return _MODULE_ENTRIES.__get__(module)  # type: ignore[no-any-return]


def _overrides(entry: Any) -> bool:
    return class_attribute(type(entry), "__set__") is not UNKNOWN


def _slot_value(slot: Any, value: Any) -> Any:
    try:
        return slot.__get__(value)
    except AttributeError:
        return UNKNOWN


def _unbound(entry: Any) -> Any:
    if type(entry) is staticmethod:
        return entry.__func__
    if entry is UNKNOWN or type(entry) in _FUNCTIONS or is_class(entry):
        return entry
    return entry if class_attribute(type(entry), "__get__") is UNKNOWN else UNKNOWN


# --------------------------------------------------------------------------- expressions


def evaluate(node: ast.AST, names: Names) -> Any:
    """The value of an expression, or `UNKNOWN`. Never calls code of the program, never raises."""
    rule = _RULES.get(type(node))
    return UNKNOWN if rule is None else rule(node, names)


def truth(value: Any) -> Optional[bool]:
    """Whether a value is true, where its class is known to answer without side effects; else None."""
    if type(value) is Flying or is_class(value):
        return True
    if value is not UNKNOWN and type(value) in _PLAIN:
        return bool(value)
    return None


def _tuple(node: Any, names: Names) -> Any:
    values = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            inner = evaluate(element.value, names)
            if type(inner) not in (tuple, list):
                return UNKNOWN
            values.extend(inner)
        else:
            values.append(evaluate(element, names))
    return tuple(values)


def _not(node: Any, names: Names) -> Any:
    if not isinstance(node.op, ast.Not):
        return UNKNOWN
    value = truth(evaluate(node.operand, names))
    return UNKNOWN if value is None else not value


def _bool(node: Any, names: Names) -> Any:
    stops = isinstance(node.op, ast.Or)
    unsure = False
    value = UNKNOWN
    for operand in node.values:
        value = evaluate(operand, names)
        known = truth(value)
        if known is stops:
            return UNKNOWN if unsure and type(value) is not bool else value
        unsure = unsure or known is None
    return UNKNOWN if unsure else value


def _compare(node: Any, names: Names) -> Any:
    if len(node.ops) != 1:
        return UNKNOWN
    op = type(node.ops[0])
    if op in (ast.In, ast.NotIn):
        return UNKNOWN
    left = evaluate(node.left, names)
    right = UNKNOWN if left is UNKNOWN else evaluate(node.comparators[0], names)
    if right is UNKNOWN:
        return UNKNOWN
    if op in (ast.Is, ast.IsNot):
        if type(left) is Flying and type(right) is Flying:
            return UNKNOWN
        if type(left) in _SEALED and type(right) in _SEALED:
            names.trail.loose = True
        return (left is right) is (op is ast.Is)
    if is_class(left) and is_class(right) and op in (ast.Eq, ast.NotEq):
        return (left is right) is (op is ast.Eq) if type(left) is type(right) is type else UNKNOWN
    return _compare_plain(op, left, right)


def _compare_plain(op: type, left: Any, right: Any) -> Any:
    if type(left) is not type(right) or type(left) not in (bool, int, float, str, bytes):
        return UNKNOWN
    if op in (ast.Eq, ast.NotEq):
        return (left == right) is (op is ast.Eq)
    if op in (ast.Lt, ast.GtE):
        return (left < right) is (op is ast.Lt)
    if op in (ast.Gt, ast.LtE):
        return (left > right) is (op is ast.Gt)
    return UNKNOWN


def _call(node: Any, names: Names) -> Any:
    function = evaluate(node.func, names)
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        return UNKNOWN
    if function is not type and function is not isinstance and function is not issubclass:
        return UNKNOWN
    values = [evaluate(argument, names) for argument in node.args]
    if function is type and len(values) == 1:
        return class_of(values[0])
    if function is isinstance and len(values) == 2:
        return _is_one_of(class_of(values[0]), values[1])
    if function is issubclass and len(values) == 2:
        return _is_one_of(values[0], values[1])
    return UNKNOWN


def class_of(value: Any) -> Any:
    """The class of an evaluated value, or `UNKNOWN`."""
    if type(value) is Flying:
        return UNKNOWN if value.cls is None else value.cls
    return UNKNOWN if value is UNKNOWN else type(value)


def _is_one_of(cls: Any, bases: Any) -> Any:
    if cls is UNKNOWN or not is_class(cls):
        return UNKNOWN
    classes = flat(bases)
    if any(base is not UNKNOWN and derives(cls, base) for base in classes):
        return True
    if any(base is UNKNOWN or type(base) is not type for base in classes):
        return UNKNOWN  # a metaclass may answer otherwise
    return False


def flat(bases: Any) -> Tuple[Any, ...]:
    """The classes in a class or (nested) tuple of classes; whatever else is there becomes `UNKNOWN`."""
    if type(bases) is tuple:
        return tuple(cls for base in bases for cls in flat(base))
    return (bases,) if is_class(bases) else (UNKNOWN,)


def matches(cls: Optional[type], bases: Any) -> Optional[bool]:
    """Whether an ``except`` for ``bases`` catches class ``cls``; None where either is not known.

    A tuple inside the tuple is None, too: Python raises a TypeError there instead.
    """
    if type(bases) is not tuple:
        return _matches_one(cls, bases)
    answers = [_matches_one(cls, base) for base in bases]
    return True if True in answers else (None if None in answers else False)


def _matches_one(cls: Optional[type], base: Any) -> Optional[bool]:
    if base is UNKNOWN or not is_class(base) or not derives(base, BaseException):
        return None
    if cls is None:
        return True if base is BaseException or base is Exception else None
    return derives(cls, base)


def _name(node: Any, names: Names) -> Any:
    return names.get(node.id)


def _attribute(node: Any, names: Names) -> Any:
    owner = evaluate(node.value, names)
    value = attribute(owner, node.attr)
    if owner is not UNKNOWN and derives(type(owner), types.ModuleType):
        names.trail.found(_module_entries(owner), node.attr, value)
    elif owner is not UNKNOWN and type(owner) not in _KNOWN_BY_CLASS and not _is_builtin_class(owner):
        names.trail.loose = True
    return value


def _is_builtin_class(value: Any) -> bool:
    """Whether ``value`` is a class whose attributes cannot be set: one that C code defines for good."""
    return type(value) is type and not type.__dict__["__flags__"].__get__(value) & _HEAP_TYPE


_HEAP_TYPE = 1 << 9
_KNOWN_BY_CLASS = (Flying, *_SEALED, *_SMALL, str, bytes)  # reading an attribute of such an object asks its class alone


def _constant(node: Any, _names: Names) -> Any:
    return node.value


_RULES: Dict[type, Callable[[Any, Names], Any]] = {
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Constant: _constant,
    ast.Tuple: _tuple,
    ast.UnaryOp: _not,
    ast.BoolOp: _bool,
    ast.Compare: _compare,
    ast.Call: _call,
}
