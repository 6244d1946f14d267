"""Names of locations inside of objects. Runs no program code. May import kinds.

A key of a mapping is taken by its value where hashing and comparing it runs no program code, else by its identity
where its class compares so; any other key is not told apart from its siblings (`ELEMENTS`).
"""

import datetime
import decimal
import weakref
from types import BuiltinFunctionType, MethodType
from typing import Any, Tuple

from healguard_core.execution.guard.kinds import Kinds, identity

Slot = Tuple[str, Any]

ELEMENTS: Slot = ("elements", None)
"""Elements without a place of their own: of sets, queues, unknown collections."""

WHOLE: Slot = ("whole", None)
"""Everything in an object, where it is not known what exactly."""

_PLAIN = Kinds(
    str, int, bytes, bool, float, complex, type(None), type(...), BuiltinFunctionType, MethodType, decimal.Decimal,
    datetime.date, datetime.datetime, datetime.time, datetime.timedelta,
)
_BASES: Tuple[Any, ...] = (str, int, float, bytes)


class _Same:
    """A key that is equal to itself only."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __hash__(self) -> int:
        return identity(self.key)

    def __eq__(self, other: object) -> bool:
        return type(other) is _Same and other.key is self.key


class _Unknown(Exception):
    """A key that cannot be compared without running program code."""


def attribute(name: str) -> Slot:
    """The attribute ``name`` of an object."""
    return ("attribute", name)


def item(key: Any) -> Slot:
    """What stands under ``key``: an index of a sequence (not negative), a key of a mapping, a name of a namespace."""
    if type(key) is str or type(key) is int:
        return ("item", key)
    try:
        return ("item", _comparable(key))
    except _Unknown:
        return ELEMENTS


def KEY(key: Any) -> Slot:  # noqa: N802 - the counterpart of `item`, named as in the design
    """The key itself, as an element of its mapping or set."""
    slot = item(key)
    return slot if slot is ELEMENTS else ("key", slot[1])


def same(value: Any) -> Slot:
    """The place of exactly the object ``value``, among others that an owner may hold in different contexts."""
    return ("value", _Same(value))


CONTENT: Slot = ("content", None)
"""What a cell holds."""


def _referred(reference: Any) -> Any:
    """References are equal when their objects are; of an object that is equal to itself only, that is its number."""
    found = weakref.ref.__call__(reference)
    kind: Any = type(found)
    if found is None or not (kind.__hash__ is object.__hash__ or kind.__eq__ is object.__eq__):
        raise _Unknown
    return ("reference", identity(found))


def _comparable(key: Any) -> Any:
    kind: Any = type(key)
    if kind in _PLAIN:
        return key
    if kind is weakref.ref or kind is weakref.KeyedRef:
        return _referred(key)
    if kind is tuple or kind is frozenset:
        return kind(_comparable(part) for part in key)
    if kind.__hash__ is object.__hash__ or kind.__eq__ is object.__eq__ or isinstance(key, type):
        return _Same(key)
    for base in _BASES:
        if kind.__eq__ is base.__eq__ and kind.__hash__ is base.__hash__:
            return base.__getitem__(key, slice(None)) if base is str or base is bytes else base.__pos__(key)
    if kind.__eq__ is tuple.__eq__ and kind.__hash__ is tuple.__hash__:
        return tuple(_comparable(part) for part in tuple.__iter__(key))
    raise _Unknown
