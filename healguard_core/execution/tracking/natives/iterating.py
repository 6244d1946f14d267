"""Iterators: `iter`, `next`, `enumerate`, `zip`, `map`, `filter`, `reversed`. May import elements and lookup.

An iterator that stands for other iterables keeps the marks of the references to these as its own items.
"""

import types
from collections import deque
from typing import Any, Callable, Generator, List, Optional, Sequence

from healguard_core.execution.guard.callables import MISSING, class_entry
from healguard_core.execution.guard.kinds import Kinds, identity
from healguard_core.execution.tracking.heap import ELEMENTS, Heap, attribute, item
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives import elements
from healguard_core.execution.tracking.natives.call import DERIVED, LENGTH, NativeCall, visible
from healguard_core.execution.tracking.natives.elements import Ahead, Flow, ahead, last, referents, settle
from healguard_core.execution.tracking.natives.lookup import TABLE, applied, is_python_callable

FUNCTION = attribute("func")
OVER_LISTS = Kinds(type(iter([])), type(iter(())))


def put_sources(call: NativeCall, made: Any, start: int = 0) -> Optional[Mark]:
    """The arguments from ``start`` on are the iterables that the iterator ``made`` will take from."""
    for index, mark in enumerate(call.marks[start:]):
        if mark is not None:
            call.heap.put(made, item(index), mark)
    return call.callee_mark


def _is_python(value: Any, name: str) -> bool:
    return type(class_entry(type(value), name)) is types.FunctionType


@TABLE.rule(iter, reads=True)
def _iter(call: NativeCall, result: Any) -> Optional[Mark]:
    if len(call.args) == 1 and _is_python(call.args[0], "__iter__"):
        return join(call.shallow(), *call.returned)
    return call.shallow()


@TABLE.rule(next)
def _next(call: NativeCall, result: Any) -> Optional[Mark]:
    iterator, default = call.args[0], call.argument(1)
    if default is not MISSING and result is default and not call.returned:
        return join(call.shallow())
    flow = last(call.heap, iterator, call.marks[0], result, call.returned)
    return join(call.callee_mark, settle(call, flow))


@TABLE.rule(reversed, reads=True)
def _reversed(call: NativeCall, result: Any) -> Optional[Mark]:
    return join(call.shallow(), *call.returned)


@TABLE.rule(enumerate)
def _enumerate(call: NativeCall, result: Any) -> Optional[Mark]:
    start = call.mark(1, "start")
    if start is not None:
        call.heap.put(result, attribute("start"), start)
    source = call.mark(0, "iterable")
    if source is not None:
        call.heap.put(result, item(0), source)
    return call.callee_mark


@TABLE.rule(zip)
def _zip(call: NativeCall, result: Any) -> Optional[Mark]:
    return put_sources(call, result)


@TABLE.rule(map)
def _map(call: NativeCall, result: Any) -> Optional[Mark]:
    if call.marks[0] is not None:
        call.heap.put(result, FUNCTION, call.marks[0])
    return put_sources(call, result, 1)


@TABLE.rule(filter)
def _filter(call: NativeCall, result: Any) -> Optional[Mark]:
    return put_sources(call, result, 1)


# --------------------------------------------------------------------------- what they give


def inner_ahead(heap: Heap, iterator: Any, sources: Sequence[Any]) -> List[Ahead]:
    """What each of ``sources`` of ``iterator`` will give."""
    return [ahead(heap, source, heap.get(iterator, item(index))) for index, source in enumerate(sources)]


def inner_last(
    heap: Heap, iterator: Any, sources: Sequence[Any], values: Sequence[Any], returned: Sequence[Optional[Mark]]
) -> List[Flow]:
    """The flow of what each of ``sources`` gave last."""
    flows = []
    driven = [source for source in sources if ahead(heap, source, None).flows is None]
    waiting = list(returned)
    for index, (source, value) in enumerate(zip(sources, values)):
        own: Sequence[Optional[Mark]] = ()
        if any(source is one for one in driven):
            own = [waiting.pop(0)] if len(driven) == len(returned) and waiting else returned
        flows.append(last(heap, source, heap.get(iterator, item(index)), value, own))
    return flows


def subsequence(found: Ahead, mark: Optional[Mark]) -> Ahead:
    """Some of the elements of ``found``, with ``mark`` on each."""
    if found.flows is None:
        return Ahead(None, False, join(found.rest, mark))
    flows = [flow._replace(mark=join(flow.mark, mark)) for flow in found.flows] if mark is not None else found.flows
    return Ahead(flows, False, join(found.rest, mark))


def joined(sources: Sequence[Ahead], build: Callable[[List[Flow]], Flow]) -> Ahead:
    """Elements made by ``build`` from one element of each of ``sources`` at a time."""
    known = [source.flows for source in sources if source.flows is not None]
    if len(known) == len(sources):
        return Ahead([build(list(flows)) for flows in zip(*known)])

    def wrap(index: int, flow: Flow) -> Flow:
        taken = []
        for source in sources:
            if source.flows is None:
                rest = flow._replace(mark=join(flow.mark, source.rest))
                taken.append(source.wrap(index, flow) if source.wrap else rest)
            else:
                taken.append(source.flows[index] if index < len(source.flows) else Flow(MISSING, source.rest))
        return build(taken)

    return Ahead(None, wrap=wrap)


def _enumerate_ahead(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
    start = heap.get(iterator, attribute("start"))
    sources = inner_ahead(heap, iterator, referents(iterator)[:1])
    return joined(sources, lambda flows: Flow(MISSING, mark, (Flow(MISSING, start), flows[0])))


def _enumerate_last(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    start = heap.get(iterator, attribute("start"))
    inner = last(heap, referents(iterator)[0], heap.get(iterator, item(0)), value[1], returned)
    return Flow(value, mark, (Flow(value[0], start), inner))


def _zip_ahead(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
    return joined(inner_ahead(heap, iterator, _sources(iterator)), lambda flows: Flow(MISSING, mark, tuple(flows)))


def _zip_last(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    return Flow(value, mark, tuple(inner_last(heap, iterator, _sources(iterator), value, returned)))


def _sources(iterator: Any) -> Sequence[Any]:
    found = referents(iterator)
    return found[0] if found and type(found[0]) is tuple else ()


def _map_ahead(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
    func, func_mark = referents(iterator)[1], join(mark, heap.get(iterator, FUNCTION))
    sources = inner_ahead(heap, iterator, _sources(iterator))
    if is_python_callable(func):
        driven = any(source.flows is None for source in sources)
        return Ahead(None, not driven, func_mark)
    made = _of_native(heap, func, func_mark)
    if any(source.flows is None for source in sources):
        return Ahead(None, rest=join(func_mark, *[source.union() for source in sources]))
    return joined(sources, made)


def _of_native(heap: Heap, func: Any, func_mark: Optional[Mark]) -> Callable[[List[Flow]], Flow]:
    call = NativeCall(heap, func)

    def build(flows: List[Flow]) -> Flow:
        if any(flow.value is MISSING for flow in flows):
            return Flow(MISSING, join(func_mark, *[flow.union() for flow in flows]))
        args, marks = [flow.value for flow in flows], [flow.union() for flow in flows]
        return Flow(MISSING, applied(call, func, func_mark, args, marks, MISSING, ()))

    return build


def _map_last(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    func, func_mark = referents(iterator)[1], join(mark, heap.get(iterator, FUNCTION))
    if is_python_callable(func):
        return Flow(value, join(func_mark, *returned[-1:]))
    sources = _sources(iterator)
    flows = inner_last(heap, iterator, sources, [MISSING] * len(sources), returned)
    marks = [flow.union() for flow in flows]
    args = [taken_last(source) for source in sources]
    call = NativeCall(heap, func)
    if MISSING not in [arg for arg in args if arg is MISSING]:
        return Flow(value, applied(call, func, func_mark, args, marks, value, returned))
    return Flow(value, join(func_mark, *marks, *returned, *[heap.reach(source) for source in sources]))


def taken_last(iterator: Any) -> Any:
    """The value that an iterator over a list or tuple gave last, else `MISSING`."""
    if type(iterator) in OVER_LISTS:
        made = iterator.__reduce__()
        if len(made) > 2 and 0 < made[2] <= len(made[1][0]):
            return made[1][0][made[2] - 1]
    return MISSING


def _filter_ahead(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
    source = inner_ahead(heap, iterator, referents(iterator)[:1])[0]
    return subsequence(source, mark)


def delegating_last(position: int) -> Any:
    """The element that the inner iterator in field ``position`` gave last goes on unchanged."""

    def handler(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
        inner = referents(iterator)[position]
        if elements.is_driven(inner):
            flow = Flow(value, join(heap.get(iterator, item(0)), *returned))
        else:
            flow = last(heap, inner, heap.get(iterator, item(0)), value, returned)
        return flow._replace(mark=join(flow.mark, mark))

    return handler


for _type, _rest, _given in (
    (enumerate, _enumerate_ahead, _enumerate_last),
    (zip, _zip_ahead, _zip_last),
    (map, _map_ahead, _map_last),
    (filter, _filter_ahead, delegating_last(0)),
):
    elements.known(_type, _rest, _given)


def _callable_ahead(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
    taken = _taking(iterator)
    if taken is not None:
        return Ahead(ahead(heap, taken, mark).flows, False)
    return Ahead(None, rest=mark if is_python_callable(referents(iterator)[0]) else join(mark, heap.reach(iterator)))


def _callable_last(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    if is_python_callable(referents(iterator)[0]):
        return Flow(value, join(mark, *returned[-1:]))
    return Flow(value, join(mark, heap.reach(iterator), *returned))


def _taking(iterator: Any) -> Any:
    """The list or deque out of which ``iter(it.pop, end)`` takes elements, else None."""
    function = referents(iterator)[0]
    owner = getattr(function, "__self__", None) if type(function) is types.BuiltinMethodType else None
    return owner if (type(owner) is list or type(owner) is deque) and function.__name__ in ("pop", "popleft") else None


elements.known(type(iter(int, 1)), _callable_ahead, _callable_last)


# --------------------------------------------------------------------------- folds over all elements


def elements_union(call: NativeCall, source: Ahead) -> Optional[Mark]:
    """What a result carries into which all elements of ``source`` went."""
    inside = [visible(call.heap, flow.value) for flow in source.flows or () if flow.value is not MISSING]
    return join(source.union(), *inside, *call.returned)


@TABLE.rule(sum, any, all, reads=True)
def _fold(call: NativeCall) -> Generator[None, Any, Optional[Mark]]:
    source = ahead(call.heap, call.args[0], call.marks[0])
    yield
    return join(call.callee_mark, call.mark(1, "start"), elements_union(call, source))


@TABLE.rule(min, max, reads=True)
def _extreme(call: NativeCall) -> Generator[None, Any, Optional[Mark]]:
    if len(call.args) > 1:
        flows: List[Flow] = [Flow(value, mark) for value, mark in zip(call.args, call.marks)]
        source = Ahead(flows)
    else:
        source = ahead(call.heap, call.args[0], call.marks[0])
    result = yield
    mark = join(call.callee_mark, call.named_marks.get("key"), call.named_marks.get("default"))
    if call.kwargs.get("key") is None:
        return join(mark, source.union(), *call.returned)
    if source.flows is None:
        return join(mark, source.union(), *call.returned)
    chosen = elements.identified(Ahead(source.flows, False, source.rest), [result])[0]
    return join(mark, settle(call, chosen))


def sorted_flows(call: NativeCall, source: Ahead, result: List[Any]) -> List[Flow]:
    """The flows of a sorted list: equal objects keep their order, so the n-th of them stays the n-th."""
    if source.flows is None or len(source.flows) != len(result):
        return [Flow(value, join(source.union(), *call.returned)) for value in result]
    waiting: Any = {}
    for flow in source.flows:
        if flow.value is MISSING:
            return _sorted_pairs(source, result)
        waiting.setdefault(identity(flow.value), []).append(flow)
    found = []
    for value in result:
        same = waiting.get(identity(value))
        found.append(same.pop(0) if same else Flow(value, source.union()))
    return found


def _sorted_pairs(source: Ahead, result: List[Any]) -> List[Flow]:
    """Fresh tuples are found again by the identity of what they hold; those alike carry the marks of all alike."""
    alike: Any = {}
    for flow in source.flows or ():
        values = tuple(identity(part.value) for part in flow.parts or ())
        if not values or any(part.value is MISSING for part in flow.parts or ()):
            return [Flow(value, source.union()) for value in result]
        alike.setdefault(values, []).append(flow)
    found = []
    for value in result:
        flows = alike.get(tuple(map(identity, value))) if isinstance(value, tuple) else None
        if not flows:
            found.append(Flow(value, source.union()))
            continue
        parts = tuple(
            Flow(part, join(*[flow.parts[i].union() for flow in flows])) for i, part in enumerate(value)
        )
        found.append(Flow(value, join(*[flow.mark for flow in flows]), parts))
    return found


@TABLE.rule(sorted, reads=True)
def _sorted(call: NativeCall) -> Generator[None, Any, Optional[Mark]]:
    source = ahead(call.heap, call.args[0], call.marks[0])
    result = yield
    elements.fill(call, result, sorted_flows(call, source, result))
    sized(call, result)
    return join(call.callee_mark, call.named_marks.get("key"), call.named_marks.get("reverse"))


def sized(call: NativeCall, made: Any, index: int = 0) -> None:
    """``made`` has as many items as argument ``index`` gave."""
    if index < len(call.args):
        call.heap.add(made, LENGTH, join(call.marks[index], call.heap.get(call.args[index], LENGTH)))


@TABLE.rule(len, reads=True)
def _len(call: NativeCall, _result: Any) -> Optional[Mark]:
    value, heap = call.args[0], call.heap
    if isinstance(value, (str, bytes)):
        return call.shallow()
    return join(call.shallow(), heap.get(value, LENGTH), heap.get(value, ELEMENTS), *call.returned)


TABLE.add(DERIVED, hash, repr, ascii, abs, round, divmod, pow, bin, oct, hex, chr, ord, format)
