"""Which marks the elements of an iterable have, in the order in which they come. May import call.

Iterators that are running already are looked at as they are: their source and position are read from the live object,
so that nothing has to be known about them from before a heal.
"""

import collections
import gc
import operator
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from healguard_core.execution.guard.callables import MISSING, class_entry
from healguard_core.execution.guard.kinds import ByKind, identity
from healguard_core.execution.tracking.heap import ELEMENTS, KEY, Heap, item
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives.call import NativeCall, visible

_gc_referents = gc.get_referents
_length_hint = operator.length_hint
_MOST_CHARACTERS = 10000


class Flow(NamedTuple):
    """One element on its way: its value (`MISSING` for an object that is yet to be made), the mark of the reference,
    and the flows of its items where it is a fresh tuple.
    """

    value: Any
    mark: Optional[Mark]
    parts: Optional[Tuple["Flow", ...]] = None

    def union(self) -> Optional[Mark]:
        """The mark with those of all its items."""
        return join(self.mark, *[part.union() for part in self.parts or ()])


class Ahead(NamedTuple):
    """The elements that an iterable will give: in this order when ``aligned``, else some of them, as identities tell.

    ``flows`` is None where only callbacks of the program know; what the n-th one returned becomes an element by
    ``wrap``. ``rest`` marks any element besides. ``tell`` gives the flow of an element from the element itself.
    """

    flows: Optional[List[Flow]]
    aligned: bool = True
    rest: Optional[Mark] = None
    wrap: Optional[Callable[[int, Flow], Flow]] = None
    tell: Optional[Callable[[Any], Flow]] = None

    def union(self) -> Optional[Mark]:
        """What any element may carry."""
        return join(self.rest, *[flow.union() for flow in self.flows or ()])


def referents(value: Any) -> List[Any]:
    """What an object of a C type refers to, in the order of its fields, without its own type."""
    found: List[Any] = _gc_referents(value)
    return found[1:] if found and found[0] is type(value) else found


# --------------------------------------------------------------------------- sources

Handler = Callable[[Heap, Any, Optional[Mark]], Ahead]
_BY_ITER: Dict[int, Handler] = {}
_BY_TYPE = ByKind()
_LAST = ByKind()


def known(kind: type, rest: Handler, given: Any) -> None:
    """Teach what iterators of exactly this type will give, and how to tell what one gave last."""
    _BY_TYPE[kind], _LAST[kind] = rest, given


def ahead(heap: Heap, iterable: Any, mark: Optional[Mark]) -> Ahead:
    """What ``iterable``, reached by a reference with ``mark``, will give. Consumes nothing, runs no program code."""
    handler: Optional[Handler] = _BY_TYPE.get(type(iterable))
    if handler is None:
        handler = _BY_ITER.get(identity(class_entry(type(iterable), "__iter__")))
    if handler is not None:
        return handler(heap, iterable, mark)
    if is_driven(iterable):
        return Ahead(None, rest=mark)
    return Ahead(None, rest=join(mark, visible(heap, iterable), heap.reach(iterable)))


def is_driven(iterable: Any) -> bool:
    """Whether Python code of the program gives the elements: a generator, or a class with methods in Python."""
    if type(iterable) is type(_generator):
        return True
    kind = type(iterable)
    for name in ("__iter__", "__next__", "__getitem__"):
        found = class_entry(kind, name)
        if found is not MISSING and hasattr(type(found), "__code__"):
            return True
    return False


_generator = (one for one in "")


def last(
    heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Sequence[Optional[Mark]] = ()
) -> Flow:
    """The flow of ``value``, which ``iterator`` has just given."""
    handler = _LAST.get(type(iterator))
    if handler is not None:
        flow: Flow = handler(heap, iterator, mark, value, returned)
        return flow
    if is_driven(iterator):
        return Flow(value, join(mark, *returned[-1:]))
    return Flow(value, join(mark, heap.reach(iterator), *returned))


def _list(heap: Heap, values: Any, mark: Optional[Mark]) -> Ahead:
    return _indexed(heap, values, list(list.__iter__(values)), mark)


def _tuple(heap: Heap, values: Any, mark: Optional[Mark]) -> Ahead:
    return _indexed(heap, values, list(tuple.__iter__(values)), mark)


def _deque(heap: Heap, values: Any, mark: Optional[Mark]) -> Ahead:
    return _indexed(heap, values, list(collections.deque.__iter__(values)), mark)


def _indexed(heap: Heap, owner: Any, values: Iterable[Any], mark: Optional[Mark], start: int = 0) -> Ahead:
    if not heap.marked(owner):
        return Ahead([Flow(value, mark) for value in values])
    return Ahead([Flow(value, join(mark, heap.get(owner, item(start + i)))) for i, value in enumerate(values)])


def _uniform(heap: Heap, values: Any, mark: Optional[Mark]) -> Ahead:
    """Strings, bytes and ranges: every element comes from all of it."""
    found = join(mark, heap.any(values))
    if isinstance(values, str) and len(values) <= _MOST_CHARACTERS:
        return Ahead([Flow(one, found) for one in str.__iter__(values)], rest=found)
    return Ahead([Flow(MISSING, found)] * len(values), rest=found)


def keys_of(heap: Heap, mapping: Any, mark: Optional[Mark], keys: Iterable[Any]) -> List[Flow]:
    """The flows of ``keys`` of ``mapping``."""
    if not heap.marked(mapping):
        return [Flow(key, mark) for key in keys]
    return [Flow(key, join(mark, heap.get(mapping, KEY(key)))) for key in keys]


def values_of(heap: Heap, mapping: Any, mark: Optional[Mark], keys: Iterable[Any]) -> List[Flow]:
    """The flows of the values under ``keys`` of ``mapping``."""
    return [Flow(_under(mapping, key), join(mark, heap.get(mapping, item(key)))) for key in keys]


def items_of(heap: Heap, mapping: Any, mark: Optional[Mark], keys: Iterable[Any]) -> List[Flow]:
    """The flows of pairs of ``mapping``."""
    known = list(keys)
    pairs = zip(keys_of(heap, mapping, mark, known), values_of(heap, mapping, mark, known))
    return [Flow(MISSING, mark, pair) for pair in pairs]


def _under(mapping: Any, key: Any) -> Any:
    return dict.get(mapping, key, MISSING) if type(key) is str or type(key) is int else MISSING


def _dict(heap: Heap, mapping: Any, mark: Optional[Mark]) -> Ahead:
    return Ahead(keys_of(heap, mapping, mark, dict.__iter__(mapping)))


def _view(of: Callable[..., List[Flow]]) -> Handler:
    def handler(heap: Heap, view: Any, mark: Optional[Mark]) -> Ahead:
        mapping = referents(view)[0]
        return Ahead(of(heap, mapping, mark, list(dict.__iter__(mapping))))

    return handler


def _set(heap: Heap, values: Any, mark: Optional[Mark]) -> Ahead:
    kind = set if isinstance(values, set) else frozenset
    return Ahead(keys_of(heap, values, mark, kind.__iter__(values)))


def _proxy(heap: Heap, proxy: Any, mark: Optional[Mark]) -> Ahead:
    return ahead(heap, referents(proxy)[0], mark)


_kind: Any
for _kind, _handler in (
    (list, _list), (tuple, _tuple), (collections.deque, _deque), (dict, _dict), (collections.OrderedDict, _dict),
    (set, _set), (frozenset, _set), (str, _uniform), (bytes, _uniform), (bytearray, _uniform), (range, _uniform),
):
    _BY_ITER[identity(_kind.__iter__)] = _handler

_one: Any
for _one in ({}, collections.OrderedDict()):
    _BY_TYPE[type(_one.keys())] = _view(keys_of)
    _BY_TYPE[type(_one.values())] = _view(values_of)
    _BY_TYPE[type(_one.items())] = _view(items_of)
_BY_TYPE[type(type.__dict__["__dict__"].__get__(int))] = _proxy


# --------------------------------------------------------------------------- running iterators over one container


def _position(iterator: Any) -> Tuple[Any, int]:
    """The sequence and the next index of an iterator that can be pickled; (MISSING, 0) once it is exhausted."""
    made = iterator.__reduce__()
    if len(made) > 2:
        return made[1][0], made[2]
    if type(iterator) is reversed or type(iterator) is type(reversed([])):  # once the first item has been given
        found = referents(iterator)
        return (found[0], -1) if found else (MISSING, 0)
    return MISSING, 0


def _sequence_rest(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
    values, index = _position(iterator)
    if values is MISSING:
        return Ahead([])
    whole = ahead(heap, values, mark)
    if whole.flows is None:
        return whole
    return Ahead(whole.flows[index:] if index >= 0 else [], whole.aligned, whole.rest)


def _reverse_rest(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
    values, index = _position(iterator)
    if values is MISSING:
        return Ahead([])
    whole = ahead(heap, values, mark)
    return whole if whole.flows is None else Ahead(whole.flows[index::-1] if index >= 0 else [], True, whole.rest)


def _sequence_last(step: int) -> Any:
    def handler(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
        values, index = _position(iterator)
        if values is MISSING:
            return Flow(value, mark)
        if isinstance(values, (str, bytes, bytearray, range)):
            return Flow(value, join(mark, heap.any(values)))
        if not isinstance(values, (list, tuple)):
            return Flow(value, join(mark, heap.reach(values), *returned))
        return Flow(value, join(mark, heap.get(values, item(index + step))))

    return handler


for _one in ([], (), "a", b"", bytearray()):
    _BY_TYPE[type(iter(_one))] = _sequence_rest
    _LAST[type(iter(_one))] = _sequence_last(-1)
_BY_TYPE[type(iter("é"))], _LAST[type(iter("é"))] = _sequence_rest, _sequence_last(-1)
_BY_TYPE[type(reversed([]))] = _BY_TYPE[reversed] = _reverse_rest
_LAST[type(reversed([]))] = _LAST[reversed] = _sequence_last(1)


class _OldSequence:
    def __getitem__(self, index: int) -> int:
        raise IndexError(index)


def _seq_rest(_heap: Heap, _iterator: Any, mark: Optional[Mark]) -> Ahead:
    return Ahead(None, rest=mark)


def _seq_last(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    values, _index = _position(iterator)
    if values is not MISSING and is_driven(values):
        return Flow(value, join(mark, *returned[-1:]))
    return Flow(value, join(mark, heap.reach(iterator), *returned))


_BY_TYPE[type(iter(_OldSequence()))] = _seq_rest
_LAST[type(iter(_OldSequence()))] = _seq_last


def _range_rest(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
    found = join(mark, heap.any(iterator))
    return Ahead([Flow(MISSING, found)] * _length_hint(iterator), rest=found)


def _own_last(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    return Flow(value, join(mark, heap.any(iterator)))


for _range in (range(1), range(10**30)):
    _BY_TYPE[type(iter(_range))], _LAST[type(iter(_range))] = _range_rest, _own_last


def _left_keys(mapping: Any, iterator: Any, before: int = 0) -> List[Any]:
    """The keys that a dict's iterator has yet to give, and ``before`` that it gave last."""
    left = _length_hint(iterator) + before
    keys = list(dict.__iter__(mapping))
    return keys[len(keys) - left:] if left else []


def _dict_rest(of: Callable[..., List[Flow]]) -> Handler:
    def handler(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
        found = referents(iterator)
        if not found or not isinstance(found[0], dict):
            return Ahead([])
        return Ahead(of(heap, found[0], mark, _left_keys(found[0], iterator)))

    return handler


def _dict_last(of: Callable[..., List[Flow]]) -> Any:
    def handler(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
        found = referents(iterator)
        if not found or not isinstance(found[0], dict):
            return Flow(value, mark)
        mapping = found[0]
        if not heap.marked(mapping):
            return Flow(value, mark)
        if of is keys_of:
            key = value
        elif of is items_of:
            key = value[0]
        else:
            keys = list(dict.__iter__(mapping))
            at = len(keys) - _length_hint(iterator) - 1
            key = keys[at] if 0 <= at < len(keys) else MISSING
        flow = of(heap, mapping, mark, [key])[0]
        return Flow(value, flow.mark, flow.parts)

    return handler


for _view_of, _of_kind in (("keys", keys_of), ("values", values_of), ("items", items_of)):
    _made = type(iter(getattr({}, _view_of)()))
    _BY_TYPE[_made], _LAST[_made] = _dict_rest(_of_kind), _dict_last(_of_kind)


def _reverse_dict_last(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    return Flow(value, join(mark, *[heap.any(one) for one in referents(iterator)]))


def _any_rest(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
    """Elements of a container in an order that is not looked at: they carry what any of them does."""
    return Ahead(None, rest=join(mark, *[heap.any(one) for one in referents(iterator)]))


for _view_of in ("keys", "values", "items"):
    _made = type(reversed(getattr({}, _view_of)()))
    _BY_TYPE[_made], _LAST[_made] = _any_rest, _reverse_dict_last
_made = type(iter(collections.OrderedDict()))
_BY_TYPE[_made], _LAST[_made] = _any_rest, _reverse_dict_last


def _set_rest(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
    found = referents(iterator)
    if not found:
        return Ahead([])
    kind = set if isinstance(found[0], set) else frozenset
    left = _length_hint(iterator)
    values = list(kind.__iter__(found[0]))
    return Ahead(keys_of(heap, found[0], mark, values[len(values) - left:] if left else []))


def _set_last(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    found = referents(iterator)
    return Flow(value, join(mark, heap.get(found[0], KEY(value)) if found else None))


_BY_TYPE[type(iter(set()))], _LAST[type(iter(set()))] = _set_rest, _set_last


def _deque_rest(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
    values = referents(iterator)[0]
    flows = _deque(heap, values, mark).flows or []
    return Ahead(flows[len(flows) - _length_hint(iterator):])


def _deque_last(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    values = referents(iterator)[0]
    index = len(values) - _length_hint(iterator) - 1
    return Flow(value, join(mark, heap.get(values, item(index))))


_made = type(iter(collections.deque()))
_BY_TYPE[_made], _LAST[_made] = _deque_rest, _deque_last


# --------------------------------------------------------------------------- results


def assigned(call: NativeCall, source: Ahead, values: Sequence[Any]) -> List[Flow]:
    """The flows of ``values``, which a native call took from ``source`` in this order."""
    returned = call.returned
    if source.tell is not None:
        return [source.tell(value) for value in values]
    if source.flows is None:
        if len(call.values) == len(returned) and source.wrap is None:
            by_callbacks = _by_callbacks(call)
            return [Flow(value, join(source.rest, by_callbacks.get(identity(value)))) for value in values]
        in_step = len(values) <= len(returned) <= len(values) + 1
        union = join(*returned)
        flows = [Flow(MISSING, join(source.rest, returned[i] if in_step else union)) for i in range(len(values))]
        if source.wrap is not None:
            flows = [source.wrap(i, flow) for i, flow in enumerate(flows)]
        return [Flow(value, flow.mark, flow.parts) for value, flow in zip(values, flows)]
    if source.aligned and len(source.flows) >= len(values):
        return [Flow(value, flow.mark, flow.parts) for value, flow in zip(values, source.flows)]
    return identified(source, values)


def _by_callbacks(call: NativeCall) -> Dict[int, Optional[Mark]]:
    """What callbacks returned, by identity. Those that were not followed returned clean values."""
    known: Dict[int, Optional[Mark]] = {}
    for value, mark in zip(call.values, call.returned):
        known[identity(value)] = join(known.get(identity(value)), mark)
    return known


def identified(source: Ahead, values: Sequence[Any]) -> List[Flow]:
    """The flows of ``values`` found by what they are; objects that occur twice carry both marks. A fresh tuple is found
    by what it holds.
    """
    known: Dict[Any, List[Flow]] = {}
    for flow in source.flows or ():
        known.setdefault(_recognised(flow.value, flow.parts), []).append(flow)
    union = source.union()
    return [_same_flow(value, known, union) for value in values]


def _recognised(value: Any, parts: Optional[Tuple[Flow, ...]] = None) -> Any:
    if value is MISSING and parts and not any(part.value is MISSING for part in parts):
        return tuple(identity(part.value) for part in parts)
    return identity(value)


def _same_flow(value: Any, known: Dict[Any, List[Flow]], union: Optional[Mark]) -> Flow:
    found = known.get(identity(value))
    if found:
        return Flow(value, join(*[flow.union() for flow in found]))
    found = known.get(tuple(map(identity, value))) if type(value) is tuple else None
    if not found:
        return Flow(value, union)
    parts = zip(*[flow.parts or () for flow in found])
    held = tuple(Flow(one, join(*[part.union() for part in parted])) for one, parted in zip(value, parts))
    return Flow(value, join(*[flow.mark for flow in found]), held)


def settle(call: NativeCall, flow: Flow) -> Optional[Mark]:
    """Write the marks of the items of a fresh tuple to the heap; the mark of the reference to it."""
    if flow.parts and isinstance(flow.value, tuple) and len(flow.value) == len(flow.parts):
        for index, (value, part) in enumerate(zip(tuple.__iter__(flow.value), flow.parts)):
            mark = settle(call, part._replace(value=value))
            if mark is not None:
                call.heap.put(flow.value, item(index), mark)
        return flow.mark
    return flow.union()


def fill(call: NativeCall, owner: Any, flows: Iterable[Flow], start: int = 0) -> None:
    """The items of ``owner``, from index ``start`` on, are what ``flows`` brought."""
    for index, flow in enumerate(flows):
        mark = settle(call, flow)
        if mark is not None or call.ambient is not None or call.heap.marked(owner):
            call.store(owner, item(start + index), mark)


def fill_set(call: NativeCall, owner: Any, flows: Iterable[Flow]) -> None:
    """The members of ``owner`` are what ``flows`` brought."""
    for flow in flows:
        mark = join(settle(call, flow), call.ambient)
        if mark is not None:
            slot = ELEMENTS if flow.value is MISSING else KEY(flow.value)
            call.heap.add(owner, slot, mark)

