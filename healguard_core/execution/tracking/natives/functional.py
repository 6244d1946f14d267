"""`functools`, `heapq`, `bisect`, generators driven by name, and calls on behalf of others. May import iterating."""

import bisect
import functools
import heapq
import types
from typing import Any, Generator, List, Optional, Tuple

from healguard_core.execution.guard.callables import MISSING
from healguard_core.execution.tracking.heap import ELEMENTS, attribute, item
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives.call import LENGTH, NOTHING, SHALLOW, NativeCall, entry
from healguard_core.execution.tracking.natives.elements import Ahead, Flow, ahead, fill
from healguard_core.execution.tracking.natives.iterating import elements_union, sorted_flows
from healguard_core.execution.tracking.natives.lookup import TABLE, applied, is_python_callable, unwrapped

Steps = Generator[None, Any, Optional[Mark]]
_Partial = functools.partial
_Cached: Any = type(functools.lru_cache(maxsize=1)(lambda: None))


# --------------------------------------------------------------------------- partial, reduce, caches


@TABLE.rule(_Partial)
def _make_partial(call: NativeCall, result: Any) -> Optional[Mark]:
    func, mark = call.args[0], call.marks[0]
    before: Tuple[Any, ...] = ()
    if type(func) is _Partial:  # partials of partials become one
        _, mark_inside, before, marks, _, named = unwrapped(call.heap, func)
        mark = join(mark, mark_inside)
        fill(call, result.args, [Flow(value, one) for value, one in zip(before, marks)])
        for name, one in named.items():
            call.heap.put(result.keywords, item(name), one)
    if mark is not None:
        call.heap.put(result, attribute("func"), mark)
    fill(call, result.args, [Flow(v, m) for v, m in zip(call.args[1:], call.marks[1:])], len(before))
    for name, one in call.named_marks.items():
        call.heap.put(result.keywords, item(name), join(one, call.ambient))
    return call.callee_mark


@TABLE.kind(_Partial)
def _call_partial(call: NativeCall, result: Any) -> Optional[Mark]:
    func, func_mark, args, marks, named, named_marks = unwrapped(call.heap, call.callee)
    if is_python_callable(func):
        return join(call.callee_mark, func_mark, *call.returned)
    named.update(call.kwargs)
    named_marks.update(call.named_marks)
    if named:
        union = join(call.shallow(), func_mark, *marks, *named_marks.values())
        return join(union, call.visible(), call.heap.reach(call.callee.args), call.heap.reach(call.callee.keywords))
    mark = join(call.callee_mark, func_mark)
    return applied(call, func, mark, args + call.args, marks + call.marks, result, call.returned)


@TABLE.rule(functools.reduce)
def _reduce(call: NativeCall) -> Steps:
    source = ahead(call.heap, call.args[1], call.marks[1])
    yield
    initial = call.mark(2)
    only = len(source.flows or ()) + (1 if len(call.args) > 2 else 0) == 1 and source.flows is not None
    if is_python_callable(call.args[0]) and not only:
        if call.returned:
            return join(call.callee_mark, call.marks[0], call.returned[-1])
        if source.flows is not None:
            return join(call.callee_mark, call.marks[0], initial, source.union())
    return join(call.callee_mark, call.marks[0], initial, elements_union(call, source), call.visible())


def _cache_key(call: NativeCall) -> Any:
    return (call.args, tuple(sorted(call.kwargs.items(), key=lambda pair: pair[0])))


@TABLE.kind(_Cached)
def _cached(call: NativeCall, _result: Any) -> Optional[Mark]:
    """A first call stores what the function returned; a later one loads it by its arguments."""
    slot = item(_cache_key(call))
    if call.returned:
        mark = join(*call.returned)
        call.store(call.callee, slot, mark)
        return join(call.callee_mark, mark)
    return join(call.shallow(), call.heap.get(call.callee, slot), call.heap.get(call.callee, ELEMENTS))


@TABLE.rule(*entry(_Cached, "cache_clear"))
def _cache_clear(call: NativeCall, _result: Any) -> Optional[Mark]:
    call.heap.clear(call.receiver)
    return None


TABLE.add(NOTHING, *entry(_Cached, "cache_info"))
TABLE.add(SHALLOW, _Cached, functools.cmp_to_key, *entry(_Cached, "__get__", "__copy__", "__deepcopy__"))
_KeyMaker: Any = type(functools.cmp_to_key(lambda one, other: 0))
TABLE.kind(_KeyMaker)(lambda call, result: call.shallow())


# --------------------------------------------------------------------------- heaps and sorted lists


def _resettled(call: NativeCall, flows: List[Flow]) -> None:
    """The first argument is a list that now holds the objects of ``flows`` in another order."""
    owner = call.args[0]
    source = Ahead([flow for flow in flows if flow.value is not MISSING])
    now = list(list.__iter__(owner))
    lengths = call.heap.get(owner, LENGTH)
    placed = sorted_flows(call, source, now) if len(source.flows or ()) == len(now) else [
        Flow(value, join(*[flow.mark for flow in flows if flow.value is value])) for value in now
    ]
    call.heap.clear(owner)
    fill(call, owner, placed)
    call.heap.add(owner, LENGTH, lengths)


def _before(call: NativeCall) -> List[Flow]:
    return list(ahead(call.heap, call.args[0], None).flows or ())


@TABLE.rule(heapq.heappush)
def _heappush(call: NativeCall) -> Steps:
    flows = _before(call) + [Flow(call.args[1], call.marks[1])]
    yield
    _resettled(call, flows)
    return None


def _left(flows: List[Flow], result: Any) -> Tuple[List[Flow], Optional[Mark]]:
    """What is left of ``flows`` once ``result`` was taken, and the mark of ``result``."""
    for position, flow in enumerate(flows):
        if flow.value is result:
            same = join(*[one.mark for one in flows if one.value is result])
            return flows[:position] + flows[position + 1:], same
    return flows, join(*[flow.mark for flow in flows])


@TABLE.rule(heapq.heappop, getattr(heapq, "_heappop_max", None))
def _heappop(call: NativeCall) -> Steps:
    flows = _before(call)
    result = yield
    rest, mark = _left(flows, result)
    _resettled(call, rest)
    return join(call.callee_mark, call.marks[0], mark)


@TABLE.rule(heapq.heappushpop, heapq.heapreplace, getattr(heapq, "_heapreplace_max", None))
def _heapreplace(call: NativeCall) -> Steps:
    flows = _before(call) + [Flow(call.args[1], call.marks[1])]
    result = yield
    rest, mark = _left(flows, result)
    _resettled(call, rest)
    return join(call.callee_mark, call.marks[0], mark)


@TABLE.rule(heapq.heapify, getattr(heapq, "_heapify_max", None))
def _heapify(call: NativeCall) -> Steps:
    flows = _before(call)
    yield
    _resettled(call, flows)
    return None


def _insort(call: NativeCall) -> Steps:
    before = list(list.__iter__(call.args[0])) if isinstance(call.args[0], list) else []
    yield
    now = list(list.__iter__(call.args[0])) if isinstance(call.args[0], list) else []
    index = next((i for i, value in enumerate(before) if now[i] is not value), len(before))
    call.heap.inserted(call.args[0], index)
    call.store(call.args[0], item(index), call.mark(1, "x"))
    return None


TABLE.rule(bisect.insort_left, bisect.insort_right)(_insort)


# --------------------------------------------------------------------------- generators, coroutines, contexts


async def _coroutine() -> None:
    """Only its type is wanted."""


def _coroutine_type() -> Any:
    made = _coroutine()
    made.close()
    return type(made)


@TABLE.rule(*[found for kind in (types.GeneratorType, _coroutine_type())
              for found in entry(kind, "send", "throw", "__next__", "close")])
def _resumed(call: NativeCall, _result: Any) -> Optional[Mark]:
    return join(call.callee_mark, call.receiver_mark, *call.returned[-1:])


@TABLE.rule(*[found for kind in (types.GeneratorType, _coroutine_type(), types.AsyncGeneratorType)
              for found in entry(kind, "__iter__", "__await__", "__aiter__", "__anext__", "asend", "athrow", "aclose")])
def _itself(call: NativeCall, _result: Any) -> Optional[Mark]:
    return call.shallow()


