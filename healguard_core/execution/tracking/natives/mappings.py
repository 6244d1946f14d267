"""Dictionaries, their views and subclasses: key by key. May import iterating.

The mark of a key is kept beside that of the value: ``KEY(key)`` says that the key itself came from a heal.
"""

import collections
import types
from typing import Any, Dict, Generator, Iterable, List, Optional, Tuple

from healguard_core.execution.guard.callables import MISSING, class_entry
from healguard_core.execution.guard.kinds import Kinds, identity
from healguard_core.execution.tracking.heap import ELEMENTS, KEY, item
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives.call import DERIVED, LENGTH, NOTHING, NativeCall, entry, visible
from healguard_core.execution.tracking.natives.elements import Ahead, Flow, ahead, assigned, referents
from healguard_core.execution.tracking.natives.lookup import TABLE

Steps = Generator[None, Any, Optional[Mark]]
_Ordered, _Default = collections.OrderedDict, collections.defaultdict
_Proxy = types.MappingProxyType
_KINDS = (dict, _Ordered, _Default)


def of_all(*names: str) -> List[Any]:
    """The entries called so of all dictionary types."""
    return [found for kind in _KINDS for found in entry(kind, *names)]


def put_item(call: NativeCall, owner: Any, key: Any, mark: Optional[Mark], key_mark: Optional[Mark]) -> None:
    """``owner[key] = value`` happened; a key that is there already stays the object that it was."""
    call.store(owner, item(key), mark)
    if key_mark is not None or call.ambient is not None:
        call.heap.add(owner, KEY(key), join(key_mark, call.ambient))
    if key_mark is not None:
        call.heap.add(owner, item(key), key_mark)


def drop_item(call: NativeCall, owner: Any, key: Any) -> None:
    """``key`` has left ``owner``. What a heal took away stays marked."""
    for slot in (item(key), KEY(key)):
        if slot is not ELEMENTS:
            call.heap.put(owner, slot, call.ambient)
    call.resized(owner)


def item_mark(call: NativeCall, owner: Any, key: Any) -> Optional[Mark]:
    """The mark of the value under ``key``, without the reference to ``owner``."""
    return call.heap.get(owner, item(key))


# --------------------------------------------------------------------------- filling


class _Filling:
    """What is about to be put into a dictionary: a mapping, or pairs, and keywords."""

    def __init__(self, call: NativeCall, given: Any, mark: Optional[Mark]) -> None:
        self.call, self.mark = call, mark
        self.mapping = given if isinstance(given, dict) else self._behind(given)
        self.keys = list(dict.keys(self.mapping)) if self.mapping is not None else []
        self.source = Ahead([])
        if given is not MISSING and self.mapping is None:
            self.source = ahead(call.heap, given, mark)
        self.protocol = (
            given is not MISSING and self.mapping is None and class_entry(type(given), "keys") is not MISSING
        )

    def _behind(self, given: Any) -> Any:
        found = referents(given) if type(given) is _Proxy else []
        return found[0] if found and isinstance(found[0], dict) else None

    def into(self, owner: Any, known: Iterable[Any]) -> None:
        """It has been put into ``owner``, which had the keys ``known`` before."""
        call, heap = self.call, self.call.heap
        if self.mapping is not None:
            for key in self.keys:
                put_item(call, owner, key, join(self.mark, heap.get(self.mapping, item(key))),
                         join(self.mark, heap.get(self.mapping, KEY(key))))
        elif self.protocol:
            heap.add(owner, ELEMENTS, join(self.mark, call.ambient, heap.reach(call.args[0]), *call.returned))
        elif self.source.flows is None or not self._pairs(owner, self.source.flows, not list(known)):
            before = dict.fromkeys(map(identity, known))
            new = [key for key in dict.keys(owner) if identity(key) not in before]
            flows = assigned(call, self.source, new) if len(new) == len(owner) else []
            self._unknown(owner, flows)
        for name in call.kwargs:
            put_item(call, owner, name, call.named_marks.get(name), None)
        if self.mark is not None:
            heap.add(owner, LENGTH, self.mark)

    def _pairs(self, owner: Any, flows: List[Flow], fresh: bool) -> bool:
        if not self.source.aligned:
            return False
        keys = list(dict.keys(owner)) if fresh and len(owner) == len(flows) else None
        for position, flow in enumerate(flows):
            if flow.parts is not None and len(flow.parts) == 2:
                key, value = flow.parts
                first, second = join(flow.mark, key.union()), join(flow.mark, value.union())
                known = key.value
            elif isinstance(flow.value, (tuple, list)) and len(flow.value) == 2:
                pair, heap = flow.value, self.call.heap
                known = pair[0]
                first = join(flow.mark, heap.get(pair, item(0)))
                second = join(flow.mark, heap.get(pair, item(1)))
            else:
                return False
            if known is MISSING and keys is not None:
                known = keys[position]
            if known is MISSING:
                return False
            put_item(self.call, owner, known, second, first)
        return True

    def _unknown(self, owner: Any, flows: List[Flow]) -> None:
        call = self.call
        union = join(self.source.union(), call.ambient, *call.returned)
        for flow in self.source.flows or ():
            if flow.value is not MISSING:
                union = join(union, visible(call.heap, flow.value))
        if flows and self.source.flows is None:
            for flow in flows:
                put_item(call, owner, flow.value, flow.union(), flow.union())
                for one in call.values:
                    if isinstance(one, (tuple, list)):
                        call.heap.add(owner, ELEMENTS, visible(call.heap, one))
        else:
            call.heap.add(owner, ELEMENTS, union)


@TABLE.rule(dict, _Ordered, reads=True)
def _make(call: NativeCall) -> Steps:
    filling = _Filling(call, call.argument(0, "", MISSING), call.mark(0))
    result = yield
    if isinstance(result, dict):
        filling.into(result, ())
    return call.callee_mark


@TABLE.rule(_Default)
def _make_default(call: NativeCall) -> Steps:
    filling = _Filling(call, call.argument(1, "", MISSING), call.mark(1))
    result = yield
    filling.into(result, ())
    if call.mark(0) is not None:
        call.heap.put(result, _FACTORY, call.mark(0))
    return call.callee_mark


_FACTORY = ("attribute", "default_factory")


@TABLE.rule(*of_all("__init__", "update"))
def _update(call: NativeCall) -> Steps:
    known = list(dict.keys(call.receiver))
    given = int(isinstance(call.receiver, _Default) and call.callee in Kinds(*entry(_Default, "__init__")))
    filling = _Filling(call, call.argument(given, "", MISSING), call.mark(given))
    yield
    filling.into(call.receiver, known)
    return None


@TABLE.rule(*of_all("__or__"), reads=True)
def _or(call: NativeCall, result: Any) -> Optional[Mark]:
    if result is NotImplemented:
        return None
    for mapping, mark in ((call.receiver, call.receiver_mark), (call.args[0], call.marks[0])):
        _Filling(call, mapping, mark).into(result, ())
    return call.callee_mark


@TABLE.rule(*of_all("__ror__"), reads=True)
def _ror(call: NativeCall, result: Any) -> Optional[Mark]:
    if result is NotImplemented:
        return None
    for mapping, mark in ((call.args[0], call.marks[0]), (call.receiver, call.receiver_mark)):
        _Filling(call, mapping, mark).into(result, ())
    return call.callee_mark


@TABLE.rule(*of_all("__ior__"))
def _ior(call: NativeCall) -> Steps:
    known = list(dict.keys(call.receiver))
    filling = _Filling(call, call.args[0], call.marks[0])
    yield
    filling.into(call.receiver, known)
    return call.receiver_mark


@TABLE.rule(*of_all("fromkeys"), reads=True)
def _fromkeys(call: NativeCall) -> Steps:
    source = ahead(call.heap, call.args[0], call.marks[0])
    result = yield
    value = call.mark(1)
    if not isinstance(result, dict):
        return call.visible()
    keys = list(dict.keys(result))
    flows = assigned(call, source, keys) if source.flows is None else _by_equality(source, keys)
    for flow in flows:
        put_item(call, result, flow.value, join(value, flow.union()), flow.union())
    return join(call.callee_mark, call.receiver_mark)


def _by_equality(source: Ahead, keys: List[Any]) -> List[Flow]:
    """Each key carries what those elements carry that became it."""
    marks: Dict[Any, Optional[Mark]] = {}
    for flow in source.flows or ():
        if flow.value is MISSING or KEY(flow.value) is ELEMENTS:
            return [Flow(key, source.union()) for key in keys]
        marks[KEY(flow.value)] = join(marks.get(KEY(flow.value)), flow.union())
    return [Flow(key, marks.get(KEY(key), source.union())) for key in keys]


# --------------------------------------------------------------------------- one key


@TABLE.rule(*of_all("__getitem__"))
def get_item(call: NativeCall, result: Any) -> Optional[Mark]:
    """``owner[key]``; a default made for a missing key is stored as well."""
    key = call.args[0]
    mark = join(call.shallow(), item_mark(call, call.receiver, key))
    if call.returned:
        made = join(call.heap.get(call.receiver, _FACTORY), *call.returned)
        put_item(call, call.receiver, key, made, call.marks[0])
        mark = join(mark, made)
    elif call.marks[0] is not None and isinstance(call.receiver, _Default):
        call.heap.add(call.receiver, KEY(key), call.marks[0])
    return mark


@TABLE.rule(*of_all("__missing__"))
def _missing(call: NativeCall, result: Any) -> Optional[Mark]:
    made = join(call.heap.get(call.receiver, _FACTORY), *call.returned)
    put_item(call, call.receiver, call.args[0], made, call.marks[0])
    return join(made, call.marks[0])


@TABLE.rule(*of_all("__setitem__"))
def set_item(call: NativeCall, _result: Any) -> Optional[Mark]:
    """``owner[key] = value``."""
    put_item(call, call.receiver, call.args[0], call.marks[1], call.marks[0])
    call.resized(call.receiver)
    return None


@TABLE.rule(*of_all("__delitem__"))
def del_item(call: NativeCall, _result: Any) -> Optional[Mark]:
    """``del owner[key]``."""
    drop_item(call, call.receiver, call.args[0])
    return None


@TABLE.rule(*of_all("get"), reads=True)
def _get(call: NativeCall, result: Any) -> Optional[Mark]:
    mark = join(call.callee_mark, call.receiver_mark, call.mark(0, "key"), item_mark(call, call.receiver, call.args[0]))
    default = call.argument(1, "default", None)
    return join(mark, call.mark(1, "default")) if result is default else mark


@TABLE.rule(*of_all("setdefault"))
def _setdefault(call: NativeCall) -> Steps:
    before = len(call.receiver)
    result = yield
    key = call.argument(0, "key")
    if len(call.receiver) > before:
        put_item(call, call.receiver, key, call.mark(1, "default"), call.mark(0, "key"))
        call.resized(call.receiver)
        return join(call.receiver_mark, call.mark(1, "default"), call.mark(0, "key"))
    mark = join(call.receiver_mark, call.mark(0, "key"), item_mark(call, call.receiver, key))
    return join(mark, call.mark(1, "default")) if result is call.argument(1, "default", None) else mark


@TABLE.rule(*of_all("pop"))
def _pop(call: NativeCall) -> Steps:
    before, key = len(call.receiver), call.argument(0, "key")
    mark = join(call.receiver_mark, call.mark(0, "key"), item_mark(call, call.receiver, key))
    yield
    if len(call.receiver) < before:
        drop_item(call, call.receiver, key)
        return mark
    return join(mark, call.mark(1, "default"))


@TABLE.rule(*of_all("popitem"))
def _popitem(call: NativeCall, result: Any) -> Optional[Mark]:
    key, owner = result[0], call.receiver
    for index, slot in enumerate((KEY(key), item(key))):
        mark = join(call.receiver_mark, call.heap.get(owner, slot))
        if mark is not None:
            call.heap.put(result, item(index), mark)
    drop_item(call, owner, key)
    return call.callee_mark


@TABLE.rule(*of_all("clear"))
def _clear(call: NativeCall, _result: Any) -> Optional[Mark]:
    call.heap.clear(call.receiver)
    call.resized(call.receiver)
    if call.ambient is not None:
        call.heap.add(call.receiver, ELEMENTS, call.ambient)
    return None


@TABLE.rule(*of_all("copy", "__copy__"), reads=True)
def _copy(call: NativeCall, result: Any) -> Optional[Mark]:
    call.heap.copied(call.receiver, result)
    call.heap.add(result, LENGTH, call.receiver_mark)
    return join(call.receiver_mark, call.callee_mark)


@TABLE.rule(*of_all("move_to_end"))
def _moved(call: NativeCall, _result: Any) -> Optional[Mark]:
    if call.mark(0) is not None or call.ambient is not None:
        call.store(call.receiver, KEY(call.args[0]), call.mark(0))
    return None


# --------------------------------------------------------------------------- views and proxies


@TABLE.rule(*of_all("keys", "values", "items", "__iter__", "__reversed__"), reads=True)
def _view(call: NativeCall, _result: Any) -> Optional[Mark]:
    return call.shallow()


@TABLE.rule(*of_all("__len__"), reads=True)
def _len(call: NativeCall, _result: Any) -> Optional[Mark]:
    return join(call.shallow(), call.heap.get(call.receiver, LENGTH))


TABLE.add(NOTHING, *of_all("__contains__"))
TABLE.add(DERIVED, *of_all("__repr__", "__eq__", "__ne__", "__sizeof__", "__reduce__"))


def _behind(view: Any) -> Tuple[Any, ...]:
    return tuple(one for one in referents(view) if isinstance(one, dict))


_VIEWS = tuple(type(getattr(kind(), name)()) for kind in (dict, _Ordered) for name in ("keys", "values", "items"))
for _kind in _VIEWS:
    TABLE.add(NOTHING, *entry(_kind, "__contains__", "isdisjoint"))
    TABLE.rule(*entry(_kind, "__iter__", "__reversed__", "mapping"))(lambda call, result: call.shallow())
    TABLE.rule(*entry(_kind, "__len__"))(
        lambda call, result: join(call.shallow(), *[call.heap.get(one, LENGTH) for one in _behind(call.receiver)])
    )
    TABLE.add(DERIVED, *entry(_kind, "__repr__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"))


@TABLE.rule(_Proxy)
def _make_proxy(call: NativeCall, result: Any) -> Optional[Mark]:
    return call.shallow()


def _proxied(name: str) -> Any:
    """What a read-only proxy does is what its mapping does."""

    def rule(call: NativeCall, result: Any) -> Optional[Mark]:
        mapping = referents(call.receiver)[0]
        inner = NativeCall(
            call.heap, MISSING, call.args, call.marks, call.kwargs, call.named_marks, mapping, call.receiver_mark,
            call.callee_mark, call.ambient,
        )
        inner.returned = call.returned
        summary = TABLE.find(class_entry(type(mapping), name))
        if summary is None or not isinstance(mapping, dict):
            return join(call.deep(), *call.returned)
        return summary.after(inner, result)

    return rule


for _name in ("__getitem__", "get", "keys", "values", "items", "copy", "__iter__", "__len__"):
    TABLE.rule(*entry(_Proxy, _name))(_proxied(_name))
TABLE.add(NOTHING, *entry(_Proxy, "__contains__"))


@TABLE.rule(collections._count_elements)  # type: ignore[attr-defined]
def _count_elements(call: NativeCall) -> Steps:
    """The C part of `Counter`: counts of the keys that come."""
    source = ahead(call.heap, call.args[1], call.marks[1])
    yield
    owner = call.args[0]
    if source.flows is None:
        call.heap.add(owner, ELEMENTS, join(source.rest, call.ambient, *call.returned))
        return None
    for flow in source.flows:
        slot = ELEMENTS if flow.value is MISSING else KEY(flow.value)
        mark = join(flow.union(), call.ambient)
        call.heap.add(owner, slot, mark)
        call.heap.add(owner, ELEMENTS if flow.value is MISSING else item(flow.value), mark)
    return None


