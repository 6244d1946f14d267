"""Sets and frozen sets: member by member. May import iterating."""

from typing import Any, Dict, Generator, List, Optional

from healguard_core.execution.guard.callables import MISSING
from healguard_core.execution.tracking.heap import ELEMENTS, KEY
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives.call import DERIVED, LENGTH, NOTHING, NativeCall, entry
from healguard_core.execution.tracking.natives.elements import Ahead, ahead, assigned
from healguard_core.execution.tracking.natives.iterating import sized
from healguard_core.execution.tracking.natives.lookup import TABLE

Steps = Generator[None, Any, Optional[Mark]]


def of_both(*names: str) -> List[Any]:
    """The entries called so of both set types."""
    return entry(set, *names) + entry(frozenset, *names)


def _members(value: Any) -> List[Any]:
    kind: Any = set if isinstance(value, set) else frozenset
    return list(kind.__iter__(value)) if isinstance(value, (set, frozenset)) else []


def _put(call: NativeCall, owner: Any, sources: List[Ahead]) -> None:
    """``owner`` consists of members that came from ``sources``."""
    known: Dict[Any, Optional[Mark]] = {}
    rest: Optional[Mark] = None
    for source in sources:
        if source.flows is None:
            rest = join(rest, source.rest, *call.returned)
        for flow in source.flows or ():
            slot = ELEMENTS if flow.value is MISSING else KEY(flow.value)
            known[slot] = join(known.get(slot), flow.union())
    for member in _members(owner):
        slot = KEY(member)
        call.heap.add(owner, slot, join(known.get(slot), call.ambient))
    call.heap.add(owner, ELEMENTS, join(rest, known.get(ELEMENTS)))


def _sources(call: NativeCall) -> List[Ahead]:
    return [ahead(call.heap, value, mark) for value, mark in zip(call.args, call.marks)]


@TABLE.rule(set, frozenset, reads=True)
def _make(call: NativeCall) -> Steps:
    sources = _sources(call)
    result = yield
    if call.args and result is call.args[0]:
        return call.shallow()
    if sources and sources[0].flows is None and len(call.returned) - len(result) in (0, 1):
        union = assigned(call, Ahead(None, False, sources[0].rest), list(result))
        call.heap.add(result, ELEMENTS, join(*[flow.mark for flow in union], *call.returned))
    else:
        _put(call, result, sources)
    sized(call, result)
    return call.callee_mark


@TABLE.rule(*entry(set, "__init__"))
def _init(call: NativeCall) -> Steps:
    sources = _sources(call)
    yield
    call.heap.clear(call.receiver)
    _put(call, call.receiver, sources)
    return None


@TABLE.rule(*entry(set, "add"))
def _add(call: NativeCall, _result: Any) -> Optional[Mark]:
    mark = join(call.marks[0], call.ambient)
    if mark is not None:
        call.heap.add(call.receiver, KEY(call.args[0]), mark)
    call.resized(call.receiver)
    return None


@TABLE.rule(*entry(set, "update", "__ior__"))
def _update(call: NativeCall) -> Steps:
    before = {KEY(member): call.heap.get(call.receiver, KEY(member)) for member in _members(call.receiver)}
    sources = _sources(call)
    result = yield
    _grown(call, before, sources)
    return call.receiver_mark if result is call.receiver else None


def _grown(call: NativeCall, before: Dict[Any, Optional[Mark]], sources: List[Ahead]) -> None:
    call.resized(call.receiver)
    for source in sources:
        if source.flows is None:
            mark = join(source.rest, call.ambient, *call.returned)
            call.heap.add(call.receiver, ELEMENTS, mark)
        for flow in source.flows or ():
            slot = ELEMENTS if flow.value is MISSING else KEY(flow.value)
            if slot not in before or flow.mark is not None or call.ambient is not None:
                call.heap.add(call.receiver, slot, join(flow.union(), call.ambient))


@TABLE.rule(*entry(set, "discard", "remove"))
def _discard(call: NativeCall, _result: Any) -> Optional[Mark]:
    if KEY(call.args[0]) is not ELEMENTS:
        call.heap.put(call.receiver, KEY(call.args[0]), call.ambient)
    call.resized(call.receiver)
    return None


@TABLE.rule(*entry(set, "pop"))
def _pop(call: NativeCall, result: Any) -> Optional[Mark]:
    slot = KEY(result)
    mark = join(call.receiver_mark, call.heap.get(call.receiver, slot))
    if slot is not ELEMENTS:
        call.heap.put(call.receiver, slot, call.ambient)
    call.resized(call.receiver)
    return mark


@TABLE.rule(*entry(set, "clear"))
def _clear(call: NativeCall, _result: Any) -> Optional[Mark]:
    call.heap.clear(call.receiver)
    call.resized(call.receiver)
    return None


@TABLE.rule(*of_both(
    "union", "intersection", "difference", "symmetric_difference", "__or__", "__ror__", "__and__", "__rand__",
    "__sub__", "__rsub__", "__xor__", "__rxor__",
), reads=True)
def _combined(call: NativeCall) -> Steps:
    sources = [ahead(call.heap, call.receiver, call.receiver_mark)] + _sources(call)
    result = yield
    if result is NotImplemented:
        return None
    if result is call.receiver:
        return call.shallow()
    _put(call, result, sources)
    return call.callee_mark


@TABLE.rule(*entry(
    set, "intersection_update", "difference_update", "symmetric_difference_update", "__iand__", "__isub__", "__ixor__",
))
def _narrowed(call: NativeCall) -> Steps:
    sources = [ahead(call.heap, call.receiver, None)] + _sources(call)
    result = yield
    call.heap.clear(call.receiver)
    _put(call, call.receiver, sources)
    return call.receiver_mark if result is call.receiver else None


@TABLE.rule(*of_both("copy"), reads=True)
def _copy(call: NativeCall, result: Any) -> Optional[Mark]:
    if result is not call.receiver:
        call.heap.copied(call.receiver, result)
        call.heap.add(result, LENGTH, call.receiver_mark)
    return call.shallow()


@TABLE.rule(*of_both("__iter__"), reads=True)
def _iterate(call: NativeCall, _result: Any) -> Optional[Mark]:
    return call.shallow()


@TABLE.rule(*of_both("__len__"), reads=True)
def _len(call: NativeCall, _result: Any) -> Optional[Mark]:
    return join(call.shallow(), call.heap.get(call.receiver, LENGTH), call.heap.get(call.receiver, ELEMENTS))


TABLE.add(NOTHING, *of_both("__contains__"))
TABLE.add(DERIVED, *of_both("__repr__", "__hash__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__",
                            "__reduce__", "isdisjoint", "issubset", "issuperset"))
