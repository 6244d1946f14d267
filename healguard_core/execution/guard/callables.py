"""Which operation a callable is, whatever it is wrapped in, and what its parameters are called.

Imports nothing of ours. Runs no code of the program: attributes are read from the types that Python itself defines.
"""

import functools
import inspect
import re
import types
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from healguard_core.execution.guard.kinds import Kinds

_DEPTH = 12
_MRO = type.__dict__["__mro__"].__get__
_NAMESPACE = type.__dict__["__dict__"].__get__
_PARTIAL_METHOD = functools.partialmethod
BOUND_C = Kinds(types.BuiltinMethodType, types.MethodWrapperType, type(re.compile("").match))
"""Types of methods of C types that are bound to their object."""
_DESCRIPTORS = Kinds(types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)
_signature = inspect.signature

MISSING = object()


class Candidate(NamedTuple):
    """One layer of a callable: what is called there and with which receiver (`MISSING` without one)."""

    callee: Any
    receiver: Any


def class_entry(cls: type, name: str) -> Any:
    """The raw entry for ``name`` in the first class of the method resolution order that has one, or `MISSING`."""
    for base in _MRO(cls):
        entry = _NAMESPACE(base).get(name, MISSING)
        if entry is not MISSING:
            return entry
    return MISSING


def is_class(value: Any) -> bool:
    """Whether ``value`` really is a class; its ``__class__`` is not asked."""
    return type in _MRO(type(value))


def instance_dict(value: Any) -> Optional[Dict[str, Any]]:
    """The instance dictionary of ``value``, or None."""
    for base in _MRO(type(value)):
        slot = _NAMESPACE(base).get("__dict__")
        if type(slot) is types.GetSetDescriptorType:
            try:
                entries = slot.__get__(value)
            except (AttributeError, TypeError):
                return None
            return entries if type(entries) is dict else None
    return None


def layers(callee: Any) -> Iterator[Candidate]:
    """``callee`` and all that it is a wrapping of: bound methods, partials, ``functools.wraps``, ``__call__``."""
    waiting: List[Candidate] = [Candidate(callee, MISSING)]
    for _ in range(_DEPTH):
        if not waiting:
            return
        layer = waiting.pop(0)
        yield layer
        waiting.extend(_inside(layer))


def _inside(layer: Candidate) -> Iterator[Candidate]:
    value, receiver = layer
    kind = type(value)
    if kind is types.MethodType:
        yield Candidate(value.__func__, value.__self__)
    elif kind is functools.partial or kind is _PARTIAL_METHOD:
        yield Candidate(value.func, receiver)
    elif kind is staticmethod or kind is classmethod:
        yield Candidate(value.__func__, receiver)
    elif kind in BOUND_C:
        yield from _descriptor(value)
    elif is_class(value):
        return
    elif kind is types.FunctionType:
        wrapped = value.__dict__.get("__wrapped__", MISSING)
        if wrapped is not MISSING:
            yield Candidate(wrapped, receiver)
    elif kind not in _DESCRIPTORS:
        yield from _called_object(value, receiver)


def _descriptor(value: Any) -> Iterator[Candidate]:
    """The method descriptor behind a bound method of a C type."""
    receiver = value.__self__
    entry = c_method(value)
    if entry is not MISSING:
        yield Candidate(entry, receiver)


def c_method(bound: Any) -> Any:
    """The descriptor that ``bound``, a method of a C type, was made from; `MISSING` for a function of a module.

    A subclass may have a method of its own under that name, which ``super()`` goes around.
    """
    receiver = bound.__self__
    if receiver is None or isinstance(receiver, types.ModuleType):
        return MISSING
    owners = _MRO(receiver) + _MRO(type(receiver)) if is_class(receiver) else _MRO(type(receiver))
    for base in owners:
        entry = _NAMESPACE(base).get(bound.__name__)
        if type(entry) in _DESCRIPTORS:
            return entry
    return MISSING


def _called_object(value: Any, receiver: Any) -> Iterator[Candidate]:
    """What runs when an object is called, and what it says to be a wrapping of (``lru_cache``)."""
    call = class_entry(type(value), "__call__")
    if type(call) is types.FunctionType:
        yield Candidate(call, value)
    entries = instance_dict(value) or {}
    wrapped = entries.get("__wrapped__", MISSING)
    if wrapped is not MISSING:
        yield Candidate(wrapped, receiver)


def python_functions(callee: Any) -> List[types.FunctionType]:
    """The Python functions whose bodies are this operation."""
    found: List[types.FunctionType] = []
    for layer in layers(callee):
        if type(layer.callee) is types.FunctionType and layer.callee not in found:
            found.append(layer.callee)
    return found


def constructors(cls: type) -> List[types.FunctionType]:
    """The Python functions that run when ``cls`` is called."""
    found = []
    for name in ("__init__", "__new__"):
        entry = class_entry(cls, name)
        if type(entry) is staticmethod:
            entry = entry.__func__
        if type(entry) is types.FunctionType:
            found.append(entry)
    return found


# --------------------------------------------------------------------------- parameters

_C_PARAMETERS: Dict[str, str] = {
    "print": "*args sep end file flush",
    "breakpoint": "*args **kws",
    "dir": "object",
    "getattr": "object name default",
    "vars": "object",
    "__import__": "name globals locals fromlist level",
    "iter": "object sentinel",
    "max": "*args key default",
    "min": "*args key default",
    "next": "iterator default",
    "type": "name bases dict",
    "socket.connect": "self address",
    "socket.connect_ex": "self address",
    "socket.bind": "self address",
    "socket.send": "self data flags",
    "socket.sendall": "self data flags",
    "socket.sendto": "self data flags address",
    "socket.sendmsg": "self buffers ancdata flags address",
    "socket.getaddrinfo": "host port family type proto flags",
    "Cursor.execute": "self sql parameters",
    "Cursor.executemany": "self sql seq_of_parameters",
    "Cursor.executescript": "self sql_script",
    "Connection.execute": "self sql parameters",
    "Connection.executemany": "self sql parameters",
    "Connection.executescript": "self sql_script",
    "connect": "database timeout detect_types isolation_level check_same_thread factory cached_statements uri",
    "Unpickler.load": "self",
    "dict.get": "self key default",
    "dict.pop": "self key default",
    "dict.update": "self *args **kwargs",
    "putenv": "name value",
}
"""Of callables that have no signature of their own on every supported Python: parameters by their own name."""


def parameters(callee: Any) -> Optional[List[str]]:
    """Names of the parameters in order, ``*name`` and ``**name`` marked; None where nobody knows them."""
    if is_class(callee):
        made = constructors(callee)
        if made:
            names = _named(made[0])
            return None if names is None else names[1:]
    own = getattr(callee, "__qualname__", "") if type(callee) in _C_KINDS else ""
    text = _C_PARAMETERS.get(own)  # first: some Pythons call any single parameter of C code `object`
    return _named(callee) if text is None else text.split()


_C_KINDS = _DESCRIPTORS.and_more(types.BuiltinFunctionType, type)


def _named(callee: Any) -> Optional[List[str]]:
    try:
        signature = _signature(callee)
    except (ValueError, TypeError):
        return None
    marks: Dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    names = [marks.get(parameter.kind, "") + name for name, parameter in signature.parameters.items()]
    if names == ["*args", "**kwargs"] and type(callee) in _C_KINDS:
        return None  # what C types without a signature are said to take
    return names


def qualified(callee: Any) -> str:
    """``module.qualname`` of a callable, for people."""
    for layer in layers(callee):
        value = layer.callee
        if type(value) is types.FunctionType or type(value) is types.BuiltinFunctionType or is_class(value):
            module = value.__module__ if type(value) is not type else type.__getattribute__(value, "__module__")
            name = type.__getattribute__(value, "__qualname__") if is_class(value) else value.__qualname__
            return name if module in (None, "builtins") else "{}.{}".format(module, name)
        if type(value) in _DESCRIPTORS:
            return "{}.{}".format(value.__objclass__.__name__, value.__name__)
    return "<{}>".format(type(callee).__name__)


def key_values(
    names: Optional[List[str]], key: Tuple[Any, ...], args: Tuple[Any, ...], kwargs: Dict[str, Any]
) -> Dict[str, Any]:
    """The key input of one call by parameter name. ``args`` begin with the receiver where ``names`` do.

    ``key`` holds names, positions, ``"*"`` (everything but the receiver) or ``"self"``. What is not given is left out.
    """
    bound = _bind(names or [], args, kwargs)
    method = bool(names) and names is not None and names[0] in ("self", "cls")
    found: Dict[str, Any] = {}
    for part in key:
        if part == "*":
            found.update({name: value for name, value in bound.items() if not (method and name == (names or [""])[0])})
        elif part == "self":
            if args:
                found["self"] = args[0]
        elif isinstance(part, int):
            index = part + (1 if method else 0)
            if index < len(args):
                found[_position_name(names, index)] = args[index]
        elif part in bound:
            found[part] = bound[part]
    return found


def _bind(names: List[str], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    bound: Dict[str, Any] = {}
    for index, value in enumerate(args):
        bound[_position_name(names, index)] = value
    starred = [name for name in names if name.startswith("*") and not name.startswith("**")]
    if starred:
        first = names.index(starred[0])
        rest = args[first:]
        for index in range(first, len(args)):
            bound.pop(_position_name(names, index), None)
        bound[starred[0][1:]] = rest
    bound.update(kwargs)
    return bound


def _position_name(names: Optional[List[str]], index: int) -> str:
    if names and index < len(names) and not names[index].startswith("*"):
        return names[index]
    return str(index)
