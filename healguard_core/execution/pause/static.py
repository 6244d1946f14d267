"""Reading objects of a paused program without running any of its code. Imports nothing of ours.

``getattr``, ``isinstance``, ``len`` and ``repr`` may all call the program (properties, ``__getattr__``,
``__class__``, metaclasses, lazy proxies). What is here looks only at where CPython keeps names, bases, instance
dictionaries and slots.
"""

import types
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple

_type_mro = type.__dict__["__mro__"].__get__
_type_name = type.__dict__["__name__"].__get__
_type_qualname = type.__dict__["__qualname__"].__get__
_type_module = type.__dict__["__module__"].__get__
_type_dict = type.__dict__["__dict__"].__get__
_type_flags = type.__dict__["__flags__"].__get__
_HOLDERS: Tuple[Any, ...] = (BaseException, types.ModuleType, types.SimpleNamespace)
_BUILTIN_HOLDERS = {id(cls): cls.__dict__["__dict__"].__get__ for cls in _HOLDERS}
_HEAP_TYPE = 1 << 9

_MISSING = object()
_args_of = BaseException.__dict__["args"].__get__


class _Plain:
    """A class like every other, to know its ``__dict__`` descriptor by."""


_PLAIN_DOC = _Plain.__dict__["__dict__"].__doc__


def mro(cls: type) -> Tuple[type, ...]:
    """The bases of ``cls`` in method resolution order, ``cls`` first."""
    found = _type_mro(cls)
    return found if type(found) is tuple else (cls,)


def derives(cls: type, base: type) -> bool:
    """Whether ``cls`` really inherits from ``base``; virtual subclasses do not count."""
    return any(one is base for one in mro(cls))


def simple_name(cls: type) -> str:
    """``cls.__name__``."""
    return str(_type_name(cls))


def qualified_name(cls: type) -> str:
    """``module.qualname`` of a class; of builtins the bare name."""
    module = _type_module(cls)
    name = str(_type_qualname(cls))
    return name if type(module) is not str or module == "builtins" else "{}.{}".format(module, name)


def class_dict(cls: type) -> Mapping[str, Any]:
    """The names that the body of ``cls`` defined."""
    found: Mapping[str, Any] = _type_dict(cls)
    return found


def is_compiled(cls: type) -> bool:
    """Whether ``cls`` is a static type of C code, which no program can have subclassed or altered."""
    return not _type_flags(cls) & _HEAP_TYPE


def class_attribute(cls: type, name: str) -> Any:
    """The raw object (descriptors are not called) under ``name`` in ``cls`` or its bases, else None."""
    for base in mro(cls):
        found = class_dict(base).get(name, _MISSING)
        if found is not _MISSING:
            return found
    return None


def instance_dict(value: object) -> Optional[Dict[Any, Any]]:
    """The dictionary that holds the attributes of ``value``; None where there is none that is safe to reach.

    Extension types may compute theirs (lazy proxies load their target for it): only the descriptors that
    CPython itself makes for a ``class`` statement are used, and no base may bring one of its own.
    """
    plain = None
    for base in mro(type(value)):
        descriptor = class_dict(base).get("__dict__")
        if descriptor is None:
            continue
        if id(base) in _BUILTIN_HOLDERS:
            plain = plain or _BUILTIN_HOLDERS[id(base)]
        elif type(descriptor) is types.GetSetDescriptorType and descriptor.__doc__ == _PLAIN_DOC:
            plain = plain or descriptor.__get__
        else:
            return None
    if plain is None:
        return None
    found = plain(value)
    return found if derives(type(found), dict) else None


def module_name(module: object) -> str:
    """The ``__name__`` in a module's dictionary, "" when there is none."""
    found = dict.get(instance_dict(module) or {}, "__name__")
    return found if type(found) is str else ""


def exception_args(error: BaseException) -> Tuple[Any, ...]:
    """``error.args`` as stored by the interpreter."""
    found = _args_of(error)
    return found if type(found) is tuple else ()


def slots(value: object) -> Iterator[Tuple[str, Any]]:
    """Names and values of the slots of ``value`` that are set, those of the bases first."""
    for base in reversed(mro(type(value))):
        if is_compiled(base):
            continue
        for name, descriptor in dict.items(dict(class_dict(base))):
            if type(descriptor) is types.MemberDescriptorType:
                try:
                    yield name, descriptor.__get__(value)
                except AttributeError:
                    continue  # a slot that is not set


def attributes(value: object) -> Iterator[Tuple[str, Any]]:
    """Names and values of what ``value`` itself holds: its dictionary, then its slots; dunder names left out."""
    held = instance_dict(value)
    if held is not None:
        for name, item in dict.items(held):
            if type(name) is str and not name.startswith("__"):
                yield name, item
    for name, item in slots(value):
        if not name.startswith("__"):
            yield name, item


def attribute(value: object, name: str) -> Any:
    """What ``value`` itself holds under ``name``; None when nothing does."""
    held = instance_dict(value)
    if held is not None:
        found = dict.get(held, name, _MISSING)
        if found is not _MISSING:
            return found
    descriptor = class_attribute(type(value), name)
    if type(descriptor) is types.MemberDescriptorType:
        try:
            return descriptor.__get__(value)
        except AttributeError:
            return None  # a slot that is not set
    return None
