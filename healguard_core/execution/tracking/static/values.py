"""What is known about a value ahead of its computation, and which live object a name or an attribute will be.

May import guard and natives. Runs no program code.
"""

import types
from typing import Any, Dict, List, NamedTuple, Tuple

from healguard_core.execution.guard.callables import MISSING, class_entry, instance_dict, is_class
from healguard_core.execution.guard.kinds import Kinds

ATOMS = Kinds(str, bytes, int, float, complex, bool, type(None))
_module_dict = vars(types.ModuleType)["__dict__"].__get__
_C_METHODS = Kinds(types.MethodDescriptorType, types.WrapperDescriptorType)

ITSELF, INSIDE, NO = 2, 1, 0


class Value(NamedTuple):
    """``may``: whether it can depend on the heal. ``must``: whether it surely does: it is ITSELF from the heal, or
    has something from it INSIDE. ``known``: the very object that it will be, else `MISSING`. ``atom``: whether it is
    of a type whose operators run no program code.
    """

    may: bool = False
    must: int = NO
    known: Any = MISSING
    atom: bool = False


CLEAN = Value()
NULL = Value(known=("no value",))


def of(value: Any, marked: bool = False) -> Value:
    """What is known about a live object."""
    return Value(marked, ITSELF if marked else NO, value, type(value) in ATOMS)


def joined(one: Value, other: Value) -> Value:
    """What is known where two ways come together."""
    if one is other or (one.known is other.known and one[:2] == other[:2] and one.atom == other.atom):
        return one
    known = one.known if one.known is other.known else MISSING
    return Value(one.may or other.may, min(one.must, other.must), known, one.atom and other.atom)


def same(one: Tuple[Value, ...], other: Tuple[Value, ...]) -> bool:
    """Whether the same is known about all of both. Compares objects of the program by identity."""
    return all(a is b or (a.known is b.known and a[:2] == b[:2] and a.atom == b.atom) for a, b in zip(one, other))


def union(values: List[Value], atom: bool = False) -> Value:
    """A value that is computed from all of ``values``."""
    return Value(any(one.may for one in values), max([one.must for one in values] or [NO]), MISSING, atom)


def container(values: List[Value]) -> Value:
    """A fresh container of ``values``."""
    return Value(any(one.may for one in values), INSIDE if any(one.must for one in values) else NO)


def global_name(namespace: Dict[str, Any], name: str) -> Value:
    """What a global name stands for now."""
    if name in namespace:
        return of(namespace[name])
    builtins = namespace.get("__builtins__")
    scope = builtins if type(builtins) is dict else vars(builtins) if builtins is not None else {}
    return of(scope[name]) if name in scope else CLEAN


def attribute(owner: Value, name: str) -> Value:
    """What ``owner.name`` will be. What an instance binds may be rebound; modules, classes and methods are stable."""
    loaded = Value(owner.may, ITSELF if owner.must == ITSELF else NO)
    value = owner.known
    if value is MISSING or value is NULL.known:
        return loaded
    if isinstance(value, types.ModuleType):
        entries = _module_dict(value)
        return loaded._replace(known=entries[name]) if name in entries else loaded
    if is_class(value):
        found = class_entry(value, name)
        if type(found) is staticmethod:
            found = found.__func__
        if type(found) is classmethod:
            return loaded._replace(known=types.MethodType(found.__func__, value))
        return loaded._replace(known=found) if type(found) is types.FunctionType or is_class(found) else loaded
    found = class_entry(type(value), name)
    if name in (instance_dict(value) or ()):
        return loaded
    if type(found) is types.FunctionType:
        return loaded._replace(known=types.MethodType(found, value))
    if type(found) in _C_METHODS:
        return loaded._replace(known=found.__get__(value, type(value)))  # some crash without the type
    return loaded


def is_plain_attribute(owner: Value, name: str) -> bool:
    """Whether loading ``owner.name`` surely runs no function of the program."""
    value = owner.known
    if value is MISSING:
        return not owner.may
    if isinstance(value, types.ModuleType):
        return name in _module_dict(value)
    kind = type(value)
    for hook in ("__getattribute__", "__getattr__"):
        if type(class_entry(kind, hook)) is types.FunctionType:
            return False
    found = class_entry(kind, name)
    return type(found) is not property and (
        found is MISSING or type(class_entry(type(found), "__get__")) is not types.FunctionType
    )


def parameters(function: types.FunctionType, args: List[Value], named: Dict[str, Value]) -> Any:
    """The values of the local variables that a call fills, by index; None where the call is not modelled."""
    code = function.__code__
    count, keyword_only = code.co_argcount, code.co_kwonlyargcount
    if code.co_flags & 0x2AC or len(args) > count:  # *args, **kwargs, generators and coroutines
        return None
    filled: Dict[int, Value] = dict(enumerate(args))
    for name, value in named.items():
        if name not in code.co_varnames[:count + keyword_only]:
            return None
        filled[code.co_varnames.index(name)] = value
    defaults = function.__defaults__ or ()
    for index in range(count):
        if index not in filled:
            place = index - (count - len(defaults))
            if place < 0:
                return None
            filled[index] = of(defaults[place])
    for index in range(count, count + keyword_only):
        filled.setdefault(index, of((function.__kwdefaults__ or {}).get(code.co_varnames[index], MISSING)))
    return filled


def flat(value: Any) -> Tuple[Value, ...]:
    """The values in a part of an operation's key."""
    if isinstance(value, Value):
        return (value,)
    if isinstance(value, dict):
        return tuple(found for one in value.values() for found in flat(one))
    return tuple(found for one in value for found in flat(one)) if isinstance(value, (list, tuple)) else ()
