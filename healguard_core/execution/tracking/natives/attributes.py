"""Attributes: `getattr` and its kin, what `object` and `type` do, descriptors. May import lookup.

An attribute of an instance is a slot of the instance, also where its dictionary is used as a mapping; a module's is an
item of its globals.
"""

import types
from typing import Any, Optional, Sequence

from healguard_core.execution.guard.callables import MISSING, class_entry, instance_dict, is_class
from healguard_core.execution.guard.kinds import Kinds
from healguard_core.execution.tracking.heap import ELEMENTS, WHOLE, Heap, attribute, item
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives.call import (
    DERIVED,
    NOTHING,
    SHALLOW,
    NativeCall,
    entry,
    is_python_object,
    visible,
)
from healguard_core.execution.tracking.natives.lookup import TABLE

_MRO = type.__dict__["__mro__"].__get__
_NAMESPACE = type.__dict__["__dict__"].__get__
_GETSET = Kinds(types.GetSetDescriptorType, types.MemberDescriptorType)
_module_dict: Any = vars(types.ModuleType)["__dict__"].__get__


def class_of_entry(cls: type, name: str) -> Any:
    """The first class in the method resolution order that has ``name``, or `MISSING`."""
    for base in _MRO(cls):
        if name in _NAMESPACE(base):
            return base
    return MISSING


def plain_attribute(owner: Any, name: str) -> Any:
    """The attribute's value where it can be read without running program code, else `MISSING`."""
    if isinstance(owner, types.ModuleType):
        return _module_dict(owner).get(name, MISSING)
    found = class_entry(type(owner), name)
    if type(found) is types.MemberDescriptorType:
        try:
            return found.__get__(owner)
        except AttributeError:
            return MISSING
    own = (instance_dict(owner) or {}).get(name, MISSING)
    if own is MISSING and is_class(owner):
        own = class_entry(owner, name)
    return found if own is MISSING else own


def load(
    heap: Heap, owner: Any, mark: Optional[Mark], name: str, returned: Sequence[Optional[Mark]] = ()
) -> Optional[Mark]:
    """The mark of what ``owner.name`` gives, reached by a reference with ``mark``."""
    found = join(mark, *returned)
    if isinstance(owner, types.ModuleType):
        return join(found, heap.get(_module_dict(owner), item(name)))
    if is_class(owner):
        base = class_of_entry(owner, name)
        own = heap.get(base, attribute(name)) if base is not MISSING else None
        return join(found, own, heap.get(owner, attribute(name)))
    if name == "__dict__":
        linked(heap, owner, instance_dict(owner))
        return found
    own = heap.get(owner, attribute(name))
    base = class_of_entry(type(owner), name)
    raw = MISSING if base is MISSING else _NAMESPACE(base)[name]
    if type(raw) is property or type(raw) is types.FunctionType:
        own = None if type(raw) is property else own
    elif type(raw) in _GETSET and not is_python_object(owner) and not isinstance(owner, BaseException):
        own = join(own, visible(heap, owner))
    if base is not MISSING and name not in (instance_dict(owner) or ()):
        own = join(own, heap.get(base, attribute(name)))
    return join(found, own)


@TABLE.rule(getattr, reads=True)
def _getattr(call: NativeCall, result: Any) -> Optional[Mark]:
    mark = join(call.callee_mark, call.marks[0], call.marks[1])
    if len(call.args) > 2 and result is call.args[2]:
        mark = join(mark, call.marks[2])
    return load(call.heap, call.args[0], mark, call.args[1], call.returned)


@TABLE.rule(*entry(object, "__getattribute__"), *entry(type, "__getattribute__"),
            *entry(types.ModuleType, "__getattribute__"), reads=True)
def _getattribute(call: NativeCall, _result: Any) -> Optional[Mark]:
    return load(call.heap, call.receiver, call.shallow(), call.args[0], call.returned)


def stores_plainly(owner: Any, name: str) -> bool:
    """Whether storing ``owner.name`` runs no Python function that does it its own way."""
    if type(class_entry(type(owner), "__setattr__")) is types.FunctionType:
        return False
    found = class_entry(type(owner), name)
    if type(found) is property:
        return False
    return found is MISSING or type(class_entry(type(found), "__set__")) is not types.FunctionType


def put(call: NativeCall, owner: Any, name: str, mark: Optional[Mark]) -> None:
    """``owner.name = value`` happened, without a Python function of its class."""
    if isinstance(owner, types.ModuleType):
        call.store(_module_dict(owner), item(name), mark)
    else:
        call.store(owner, attribute(name), mark)


@TABLE.rule(setattr)
def _setattr(call: NativeCall, _result: Any) -> Optional[Mark]:
    if stores_plainly(call.args[0], call.args[1]):
        put(call, call.args[0], call.args[1], join(call.marks[1], call.marks[2]))
    return None


@TABLE.rule(*entry(object, "__setattr__"), *entry(type, "__setattr__"))
def _object_setattr(call: NativeCall, _result: Any) -> Optional[Mark]:
    found = class_entry(type(call.receiver), call.args[0])
    if type(found) is not property:
        put(call, call.receiver, call.args[0], join(call.marks[0], call.marks[1]))
    return None


@TABLE.rule(delattr)
def _delattr(call: NativeCall, _result: Any) -> Optional[Mark]:
    put(call, call.args[0], call.args[1], None)
    return None


@TABLE.rule(*entry(object, "__delattr__"), *entry(type, "__delattr__"))
def _object_delattr(call: NativeCall, _result: Any) -> Optional[Mark]:
    put(call, call.receiver, call.args[0], None)
    return None


@TABLE.rule(vars)
def _vars(call: NativeCall, result: Any) -> Optional[Mark]:
    if call.args:
        linked(call.heap, call.args[0], result)
    return call.shallow()


def linked(heap: Heap, owner: Any, namespace: Any) -> None:
    """``namespace`` is what ``vars(owner)`` or ``owner.__dict__`` gave."""
    if not isinstance(owner, types.ModuleType) and isinstance(namespace, (dict, types.MappingProxyType)):
        heap.link(namespace, owner)


TABLE.add(NOTHING, isinstance, issubclass, callable, hasattr, locals, globals)
TABLE.add(SHALLOW, id, dir, super, property, classmethod, staticmethod, *entry(object, "__dir__", "__sizeof__"))
TABLE.add(DERIVED, *entry(object, "__repr__", "__str__", "__format__", "__hash__", "__eq__", "__ne__", "__lt__",
                          "__le__", "__gt__", "__ge__"))
TABLE.add(NOTHING, *entry(object, "__init_subclass__", "__subclasshook__"),
          *entry(type, "__instancecheck__", "__subclasscheck__", "__subclasses__", "mro", "__prepare__"))


@TABLE.rule(*entry(super, "__getattribute__"), reads=True)
def _super(call: NativeCall, _result: Any) -> Optional[Mark]:
    return join(call.shallow(), *call.returned)


@TABLE.rule(*entry(property, "__get__"), *entry(classmethod, "__get__"), *entry(staticmethod, "__get__"),
            *entry(types.FunctionType, "__get__"), reads=True)
def _descriptor_get(call: NativeCall, _result: Any) -> Optional[Mark]:
    if isinstance(call.receiver, property):
        return join(call.callee_mark, call.receiver_mark, *call.returned)
    return join(call.shallow(), *call.returned)


@TABLE.rule(*entry(property, "getter", "setter", "deleter", "__set__", "__delete__"))
def _property(call: NativeCall, result: Any) -> Optional[Mark]:
    return None if result is None else call.shallow()


@TABLE.rule(*entry(types.MemberDescriptorType, "__get__"), *entry(types.GetSetDescriptorType, "__get__"), reads=True)
def _slot_get(call: NativeCall, result: Any) -> Optional[Mark]:
    name = call.receiver.__name__
    if name == "__dict__" and call.args:
        linked(call.heap, call.args[0], result)
        return call.shallow()
    return load(call.heap, call.args[0], call.shallow(), name) if call.args else call.shallow()


@TABLE.rule(*entry(types.MemberDescriptorType, "__set__"), *entry(types.GetSetDescriptorType, "__set__"))
def _slot_set(call: NativeCall, _result: Any) -> Optional[Mark]:
    put(call, call.args[0], call.receiver.__name__, call.marks[1])
    return None


# --------------------------------------------------------------------------- state, for copying and pickling


@TABLE.rule(*entry(object, "__reduce_ex__", "__reduce__", "__getstate__"))
def _reduce(call: NativeCall, result: Any) -> Optional[Mark]:
    owner, heap = call.receiver, call.heap
    if not isinstance(result, tuple):
        _state(heap, owner, result)
        return join(call.shallow(), *call.returned)
    for part in result:
        _state(heap, owner, part)
        if isinstance(part, tuple):
            for one in part:
                _state(heap, owner, one)
    content = None if is_python_object(owner) else visible(heap, owner)
    whole = join(heap.get(owner, WHOLE), heap.get(owner, ELEMENTS))
    return join(call.shallow(), content, whole, *call.returned)


def _state(heap: Heap, owner: Any, state: Any) -> None:
    """``state`` is what an object's pickling gives of its attributes."""
    if type(state) is not dict:
        return
    if state is instance_dict(owner):
        heap.link(state, owner)
        return
    for name in state:
        if type(name) is str:
            mark = heap.get(owner, attribute(name))
            if mark is not None:
                heap.put(state, item(name), mark)


