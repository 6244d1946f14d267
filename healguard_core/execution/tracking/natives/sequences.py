"""Lists, tuples, deques, arrays of bytes: element by element. May import iterating."""

import array
import collections
from typing import Any, Generator, List, Optional

from healguard_core.execution.tracking.heap import ELEMENTS, item
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives.call import DERIVED, LENGTH, NOTHING, NativeCall, entry, visible
from healguard_core.execution.tracking.natives.elements import Ahead, Flow, ahead, assigned, fill
from healguard_core.execution.tracking.natives.iterating import sized, sorted_flows
from healguard_core.execution.tracking.natives.lookup import TABLE

Steps = Generator[None, Any, Optional[Mark]]
_deque = collections.deque


def _length(owner: Any) -> int:
    kind: Any
    for kind in (list, tuple, _deque, bytearray, array.array):
        if isinstance(owner, kind):
            return int(kind.__len__(owner))
    return len(owner)


def _at(owner: Any, index: Any, length: Optional[int] = None) -> Any:
    """A valid index counted from the front; other indices as they are."""
    if isinstance(index, int) and index < 0:
        return index + (_length(owner) if length is None else length)
    return index


def loaded(call: NativeCall, owner: Any, owner_mark: Optional[Mark], index: Any, index_mark: Optional[Mark]) -> Any:
    """The mark of what a load of one item gives."""
    return join(call.callee_mark, owner_mark, index_mark, call.heap.get(owner, item(_at(owner, index))))


# --------------------------------------------------------------------------- making


@TABLE.rule(list, tuple, reads=True)
def _make(call: NativeCall) -> Steps:
    source = ahead(call.heap, call.args[0], call.marks[0]) if call.args else Ahead([])
    given = call.args[0] if call.args else None
    result = yield
    if result is given:  # a tuple of a tuple is the same one
        return call.shallow()
    kind: Any = list if isinstance(result, list) else tuple
    values = list(kind.__iter__(result)) if isinstance(result, (list, tuple)) else []
    fill(call, result, assigned(call, source, values))
    sized(call, result)
    return call.callee_mark


@TABLE.rule(*entry(tuple, "__new__"), reads=True)
def _new_tuple(call: NativeCall) -> Steps:
    """``tuple.__new__(cls, values)``: what named tuples are made by."""
    source = ahead(call.heap, call.args[1], call.marks[1]) if len(call.args) > 1 else Ahead([])
    given = call.args[1] if len(call.args) > 1 else None
    result = yield
    if result is given:
        return call.shallow()
    fill(call, result, assigned(call, source, list(tuple.__iter__(result))))
    return join(call.callee_mark, call.marks[0])


@TABLE.rule(*entry(list, "__init__"))
def _init_list(call: NativeCall) -> Steps:
    source = ahead(call.heap, call.args[0], call.marks[0]) if call.args else Ahead([])
    yield
    call.heap.clear(call.receiver)
    fill(call, call.receiver, assigned(call, source, list(list.__iter__(call.receiver))))
    sized(call, call.receiver)
    return None


@TABLE.rule(_deque)
def _make_deque(call: NativeCall) -> Steps:
    source = ahead(call.heap, call.args[0], call.marks[0]) if call.args else Ahead([])
    result = yield
    _deque_gets(call, result, source, 0)
    return call.callee_mark


@TABLE.rule(*entry(_deque, "__init__"))
def _init_deque(call: NativeCall) -> Steps:
    source = ahead(call.heap, call.args[0], call.marks[0]) if call.args else Ahead([])
    yield
    call.heap.clear(call.receiver)
    _deque_gets(call, call.receiver, source, 0)
    return None


def _deque_gets(call: NativeCall, owner: Any, source: Ahead, before: int) -> None:
    """``owner`` had ``before`` items, and got all of ``source`` at its right end."""
    values = list(_deque.__iter__(owner))
    if source.flows is None:
        added = max(0, len(values) - before) if owner.maxlen is None else len(values)
        flows = assigned(call, source, values[len(values) - added:])
    else:
        flows = source.flows
    lost = before + len(flows) - len(values)
    if lost > 0:
        call.heap.removed(owner, 0, lost)
        before -= lost
        if before < 0:
            flows, before = flows[-before:], 0
    fill(call, owner, [flow._replace(value=value) for value, flow in zip(values[before:], flows)], before)


# --------------------------------------------------------------------------- growing


@TABLE.rule(*entry(list, "append"))
def _append(call: NativeCall, _result: Any) -> Optional[Mark]:
    call.store(call.receiver, item(_length(call.receiver) - 1), call.marks[0])
    call.resized(call.receiver)
    return None


@TABLE.rule(*entry(list, "extend", "__iadd__"))
def _extend(call: NativeCall) -> Steps:
    owner = call.receiver
    before = _length(owner)
    source = ahead(call.heap, call.args[0], call.marks[0])
    yield
    values = list(list.__iter__(owner))[before:]
    fill(call, owner, assigned(call, source, values), before)
    call.resized(owner, call.marks[0])
    return call.receiver_mark


@TABLE.rule(*entry(list, "insert"))
def _insert(call: NativeCall, _result: Any) -> Optional[Mark]:
    owner, length = call.receiver, _length(call.receiver) - 1
    index = min(max(_at(owner, call.args[0].__index__(), length), 0), length)
    call.heap.inserted(owner, index)
    call.store(owner, item(index), join(call.marks[1], call.marks[0]))
    call.resized(owner)
    return None


@TABLE.rule(*entry(_deque, "append"))
def _deque_append(call: NativeCall) -> Steps:
    before = _length(call.receiver)
    yield
    _deque_gets(call, call.receiver, Ahead([Flow(call.args[0], call.marks[0])]), before)
    return None


@TABLE.rule(*entry(_deque, "extend", "__iadd__"))
def _deque_extend(call: NativeCall) -> Steps:
    before, source = _length(call.receiver), ahead(call.heap, call.args[0], call.marks[0])
    yield
    _deque_gets(call, call.receiver, source, before)
    return call.receiver_mark


@TABLE.rule(*entry(_deque, "appendleft"))
def _deque_appendleft(call: NativeCall) -> Steps:
    before = _length(call.receiver)
    yield
    owner = call.receiver
    if _length(owner) == 0:
        return None
    if _length(owner) == before:
        call.heap.removed(owner, before - 1)
    call.heap.inserted(owner, 0)
    call.store(owner, item(0), call.marks[0])
    return None


@TABLE.rule(*entry(_deque, "extendleft"))
def _deque_extendleft(call: NativeCall) -> Steps:
    source = ahead(call.heap, call.args[0], call.marks[0])
    yield
    owner = call.receiver
    if source.flows is None:
        call.store(owner, ELEMENTS, join(source.rest, *call.returned))
        return None
    for flow in source.flows:
        call.heap.inserted(owner, 0)
        call.store(owner, item(0), flow.union())
    call.heap.removed(owner, _length(owner), len(source.flows))
    return None


@TABLE.rule(*entry(_deque, "insert"))
def _deque_insert(call: NativeCall, _result: Any) -> Optional[Mark]:
    owner, length = call.receiver, _length(call.receiver) - 1
    index = min(max(_at(owner, call.args[0], length), 0), length)
    call.heap.inserted(owner, index)
    call.store(owner, item(index), join(call.marks[1], call.marks[0]))
    return None


@TABLE.rule(*entry(_deque, "rotate"))
def _deque_rotate(call: NativeCall, _result: Any) -> Optional[Mark]:
    length = _length(call.receiver)
    by = call.argument(0, "n", 1)
    if length:
        call.heap.moved(call.receiver, lambda old: (old + by) % length)
    if call.args and call.marks[0] is not None:
        call.store(call.receiver, ELEMENTS, call.marks[0])
    return None


# --------------------------------------------------------------------------- shrinking


def _take(call: NativeCall, index: int) -> Optional[Mark]:
    """Item ``index`` has left its list; the mark that it had."""
    mark = join(call.receiver_mark, call.callee_mark, call.heap.get(call.receiver, item(index)))
    call.heap.removed(call.receiver, index)
    call.resized(call.receiver)
    return mark


@TABLE.rule(*entry(list, "pop"), *entry(_deque, "pop"))
def _pop(call: NativeCall, _result: Any) -> Optional[Mark]:
    length = _length(call.receiver) + 1
    index = call.args[0].__index__() if call.args else -1
    return join(_take(call, _at(call.receiver, index, length)), call.mark(0))


@TABLE.rule(*entry(_deque, "popleft"))
def _popleft(call: NativeCall, _result: Any) -> Optional[Mark]:
    return _take(call, 0)


@TABLE.rule(*entry(list, "remove"), *entry(_deque, "remove"))
def _remove(call: NativeCall) -> Steps:
    kind = list if isinstance(call.receiver, list) else _deque
    before = list(kind.__iter__(call.receiver))
    yield
    after = list(kind.__iter__(call.receiver))
    same = (i for i, value in enumerate(after) if value is not before[i])
    _take(call, next(same, len(after)))
    return None


@TABLE.rule(*entry(list, "clear"), *entry(_deque, "clear"), *entry(bytearray, "clear"))
def _clear(call: NativeCall, _result: Any) -> Optional[Mark]:
    call.heap.clear(call.receiver)
    call.resized(call.receiver)
    return None


# --------------------------------------------------------------------------- order


@TABLE.rule(*entry(list, "sort"))
def _sort(call: NativeCall) -> Steps:
    source = ahead(call.heap, call.receiver, None)
    lengths = call.heap.get(call.receiver, LENGTH)
    yield
    flows = sorted_flows(call, source, list(list.__iter__(call.receiver)))
    call.heap.clear(call.receiver)
    fill(call, call.receiver, flows)
    call.heap.add(call.receiver, LENGTH, lengths)
    return None


@TABLE.rule(*entry(list, "reverse"), *entry(_deque, "reverse"))
def _reverse(call: NativeCall, _result: Any) -> Optional[Mark]:
    length = _length(call.receiver)
    call.heap.moved(call.receiver, lambda old: length - 1 - old)
    if call.ambient is not None:
        call.store(call.receiver, ELEMENTS, None)
    return None


# --------------------------------------------------------------------------- reading


def _values(owner: Any) -> List[Any]:
    kind: Any
    for kind in (list, tuple, _deque):
        if isinstance(owner, kind):
            return list(kind.__iter__(owner))
    return []


@TABLE.rule(*entry(list, "__getitem__"), *entry(tuple, "__getitem__"), *entry(_deque, "__getitem__"), reads=True)
def get_item(call: NativeCall, result: Any) -> Optional[Mark]:
    """``owner[index]`` and ``owner[slice]``."""
    owner, index = call.receiver, call.args[0]
    if not isinstance(index, slice):
        found: Optional[Mark] = loaded(call, owner, call.receiver_mark, index.__index__(), call.marks[0])
        return found
    if result is owner:
        return call.shallow()
    positions = range(_length(owner))[index]
    fill(call, result, [Flow(v, call.heap.get(owner, item(i))) for v, i in zip(_values(result), positions)])
    bounds = join(call.receiver_mark, call.marks[0], call.heap.any(index))
    call.heap.add(result, LENGTH, join(bounds, call.heap.get(owner, LENGTH)))
    return join(bounds, call.callee_mark)


@TABLE.rule(*entry(list, "__setitem__"), *entry(_deque, "__setitem__"))
def set_item(call: NativeCall) -> Steps:
    """``owner[index] = value`` and ``owner[slice] = values``."""
    owner, index = call.receiver, call.args[0]
    length = _length(owner)
    source = ahead(call.heap, call.args[1], call.marks[1]) if isinstance(index, slice) else Ahead([])
    yield
    if not isinstance(index, slice):
        call.store(owner, item(_at(owner, index.__index__())), join(call.marks[1], call.marks[0]))
        return None
    positions = range(length)[index]
    start, step = positions.start, positions.step
    flows = source.flows
    if step == 1:
        gone, come = len(positions), _length(owner) - length + len(positions)
        call.heap.removed(owner, start, gone)
        call.heap.inserted(owner, start, come)
        values = list(list.__iter__(owner))[start:start + come]
        fill(call, owner, assigned(call, source, values), start)
        call.resized(owner, call.marks[1])
    else:
        for position, flow in zip(positions, flows or ()):
            call.store(owner, item(position), flow.union())
        if flows is None:
            call.store(owner, ELEMENTS, join(source.rest, *call.returned))
    if call.marks[0] is not None or call.heap.any(index) is not None:
        call.store(owner, ELEMENTS, join(call.marks[0], call.heap.any(index)))
    return None


@TABLE.rule(*entry(list, "__delitem__"), *entry(_deque, "__delitem__"))
def del_item(call: NativeCall) -> Steps:
    """``del owner[index]`` and ``del owner[slice]``."""
    owner, index = call.receiver, call.args[0]
    positions = range(_length(owner))[index] if isinstance(index, slice) else [_at(owner, index.__index__())]
    yield
    for position in sorted(positions, reverse=True):
        call.heap.removed(owner, position)
    call.resized(owner, call.marks[0])
    return None


@TABLE.rule(*entry(list, "copy"), *entry(_deque, "copy", "__copy__"), reads=True)
def _copy(call: NativeCall, result: Any) -> Optional[Mark]:
    call.heap.copied(call.receiver, result)
    call.heap.add(result, LENGTH, call.receiver_mark)
    return join(call.receiver_mark, call.callee_mark)


@TABLE.rule(*entry(list, "__add__"), *entry(tuple, "__add__"), *entry(_deque, "__add__"), reads=True)
def add(call: NativeCall, result: Any) -> Optional[Mark]:
    """``left + right``: the items of both."""
    left, right = call.receiver, call.args[0]
    if result is left or result is right:
        return call.shallow()
    flows = (ahead(call.heap, left, call.receiver_mark).flows or []) + (
        ahead(call.heap, right, call.marks[0]).flows or [])
    fill(call, result, flows)
    call.heap.add(result, LENGTH, join(
        call.receiver_mark, call.marks[0], call.heap.get(left, LENGTH), call.heap.get(right, LENGTH)))
    return call.callee_mark


@TABLE.rule(*entry(list, "__mul__", "__rmul__"), *entry(tuple, "__mul__", "__rmul__"),
            *entry(_deque, "__mul__", "__rmul__"), reads=True)
def multiply(call: NativeCall, result: Any) -> Optional[Mark]:
    """``values * count``: the items again and again."""
    if result is call.receiver:
        return call.shallow()
    flows = ahead(call.heap, call.receiver, call.receiver_mark).flows or []
    length = len(flows)
    if length and any(flow.mark for flow in flows):
        fill(call, result, [flows[i % length] for i in range(_length(result))])
    call.heap.add(result, LENGTH, join(call.marks[0], call.receiver_mark, call.heap.get(call.receiver, LENGTH)))
    return call.callee_mark


@TABLE.rule(*entry(list, "__imul__"), *entry(_deque, "__imul__"))
def _imultiply(call: NativeCall) -> Steps:
    flows = ahead(call.heap, call.receiver, None).flows or []
    result = yield
    length = len(flows)
    if length and any(flow.mark for flow in flows):
        fill(call, result, [flows[i % length] for i in range(_length(result))])
    call.resized(result, call.marks[0])
    return call.receiver_mark


@TABLE.rule(
    *entry(list, "index", "count", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"),
    *entry(tuple, "index", "count", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"),
    *entry(_deque, "index", "count", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"), reads=True)
def _compared(call: NativeCall, _result: Any) -> Optional[Mark]:
    return call.visible()


@TABLE.rule(*entry(list, "__iter__"), *entry(tuple, "__iter__"), *entry(_deque, "__iter__"),
            *entry(list, "__reversed__"), *entry(_deque, "__reversed__"), reads=True)
def _iterate(call: NativeCall, _result: Any) -> Optional[Mark]:
    return call.shallow()


@TABLE.rule(*entry(list, "__len__"), *entry(tuple, "__len__"), *entry(_deque, "__len__"), reads=True)
def _len(call: NativeCall, _result: Any) -> Optional[Mark]:
    return join(call.shallow(), call.heap.get(call.receiver, LENGTH))


TABLE.add(NOTHING, *entry(list, "__contains__"), *entry(tuple, "__contains__"), *entry(_deque, "__contains__"))
TABLE.add(
    DERIVED,
    *entry(list, "__repr__", "__hash__"), *entry(tuple, "__repr__", "__hash__"), *entry(_deque, "__repr__"),
    *entry(tuple, "__getnewargs__"),
)


# --------------------------------------------------------------------------- flat buffers


def _buffer_changes(call: NativeCall, _result: Any) -> Optional[Mark]:
    """A buffer of plain numbers is one location."""
    mark = join(call.visible(), *call.returned)
    call.store(call.receiver, ELEMENTS, join(*call.marks, *[visible(call.heap, value) for value in call.args]))
    return mark if _result is not None else None


for _kind in (bytearray, array.array):
    _writers = ("append", "extend", "insert", "pop", "remove", "reverse", "__setitem__", "__delitem__", "__iadd__",
                "__imul__", "frombytes", "fromlist", "fromfile", "fromunicode", "byteswap", "__init__")
    for _name in _writers:
        TABLE.rule(*entry(_kind, _name))(_buffer_changes)


