"""Loads and stores of attributes: which location they mean, found without running program code. May import shadow."""

from collections import namedtuple
from types import FunctionType, ModuleType
from typing import Any, List, Optional, Tuple

from healguard_core.execution.guard.callables import MISSING as NOT_FOUND
from healguard_core.execution.guard.callables import class_entry, instance_dict, is_class
from healguard_core.execution.guard.kinds import Kinds
from healguard_core.execution.tracking.heap import Heap, attribute, item
from healguard_core.execution.tracking.labels import Mark, join

_mro = type.__dict__["__mro__"].__get__
_namespace = type.__dict__["__dict__"].__get__
_module_dict = vars(ModuleType)["__dict__"].__get__
_FIELD = type(namedtuple("_Pair", "one other").one)  # type: ignore[attr-defined]
_PLAIN = Kinds(FunctionType, str, int, float, bool, bytes, type(None))


def loaded(heap: Heap, owner: Any, name: str) -> Optional[Mark]:
    """The mark of what stands in attribute ``name`` of ``owner``, which was reached by a clean reference.

    What Python code computes for it (a property) is not counted: that is followed in its own frame.
    """
    if isinstance(owner, ModuleType):
        return heap.get(_module_dict(owner), item(name))
    if isinstance(owner, tuple):
        entry = class_entry(type(owner), name)
        if type(entry) is _FIELD:  # of a named tuple
            return heap.get(owner, item(entry.__reduce__()[1][0]))
    found = heap.get(owner, attribute(name))
    if found is not None:
        entry = class_entry(type(owner), name)
        return None if type(entry) is property else found
    if name == "__dict__":
        namespace = instance_dict(owner)
        if namespace is not None:
            heap.link(namespace, owner)
        return None
    if not heap.holds_name(name):
        return None
    if is_class(owner):
        found = _in_classes(heap, owner, name)
        return found if found is not None else _in_classes(heap, type(owner), name)
    entries = instance_dict(owner)
    if entries is not None and name in entries:
        return heap.get(entries, item(name))  # stored through `vars`
    return _in_classes(heap, type(owner), name)


def _in_classes(heap: Heap, cls: Any, name: str) -> Optional[Mark]:
    for base in _mro(cls):
        if name in _namespace(base):
            return heap.get(base, attribute(name))
    return None


def stored(heap: Heap, owner: Any, name: str, mark: Optional[Mark]) -> None:
    """A value with ``mark`` is stored to (or deleted from) attribute ``name`` of ``owner``.

    Where Python code does the store (a property, ``__setattr__``), that is followed in its own frame.
    """
    if isinstance(owner, ModuleType):
        heap.put(_module_dict(owner), item(name), mark)
        return
    if mark is None and not heap.marked(owner):
        return
    entry = class_entry(type(owner), name)
    if type(entry) is property or type(class_entry(type(owner), "__setattr__")) is FunctionType:
        return
    if entry is not NOT_FOUND and type(class_entry(type(entry), "__set__")) is FunctionType:
        return
    heap.put(owner, attribute(name), mark)
    namespace = None if mark is None else instance_dict(owner)
    if namespace is not None:
        heap.link(namespace, owner)


def descriptor(owner: Any, name: str) -> List[Tuple[Any, Optional[Mark]]]:
    """The object in the class of ``owner`` that may compute its attribute ``name``: it is in flight as well."""
    found = class_entry(type(owner), name)
    return [] if found is NOT_FOUND or type(found) in _PLAIN else [(found, None)]


def joined(heap: Heap, owner: Any, base: Optional[Mark], name: str) -> Optional[Mark]:
    """The mark of ``owner.name`` for an ``owner`` whose reference carries ``base``."""
    return join(base, loaded(heap, owner, name)) if heap else base
