"""The iterators of `itertools`. May import iterating."""

import gc
import itertools
from typing import Any, Callable, List, Optional, Sequence, Tuple

from healguard_core.execution.guard.callables import MISSING
from healguard_core.execution.tracking.heap import ELEMENTS, Heap, attribute, item
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives import elements
from healguard_core.execution.tracking.natives.call import NativeCall, visible
from healguard_core.execution.tracking.natives.elements import Ahead, Flow, ahead, fill, last, referents
from healguard_core.execution.tracking.natives.iterating import (
    FUNCTION,
    OVER_LISTS,
    delegating_last,
    inner_ahead,
    inner_last,
    put_sources,
    subsequence,
)
from healguard_core.execution.tracking.natives.lookup import TABLE, is_python_callable

_pairwise = getattr(itertools, "pairwise", None)
_batched = getattr(itertools, "batched", None)
_Fold = attribute("total")
_gc_referents = gc.get_referents


# --------------------------------------------------------------------------- making them


@TABLE.rule(itertools.chain, itertools.zip_longest, itertools.islice, itertools.compress, _pairwise, _batched)
def _from_first(call: NativeCall, result: Any) -> Optional[Mark]:
    fill_value = call.named_marks.get("fillvalue")
    if fill_value is not None:
        call.heap.put(result, FUNCTION, fill_value)
    return put_sources(call, result)


@TABLE.rule(*[type.__dict__["__dict__"].__get__(itertools.chain)["from_iterable"]])
def _from_iterable(call: NativeCall, result: Any) -> Optional[Mark]:
    call.heap.add(result, ELEMENTS, call.mark(0))
    return call.callee_mark


@TABLE.rule(
    itertools.takewhile, itertools.dropwhile, itertools.filterfalse, itertools.starmap,
)
def _with_function(call: NativeCall, result: Any) -> Optional[Mark]:
    if call.marks[0] is not None:
        call.heap.put(result, FUNCTION, call.marks[0])
    return put_sources(call, result, 1)


@TABLE.rule(itertools.accumulate, itertools.groupby)
def _with_key(call: NativeCall, result: Any) -> Optional[Mark]:
    source = call.mark(0, "iterable")
    if source is not None:
        call.heap.put(result, item(0), source)
    func = join(call.mark(1, "func"), call.named_marks.get("key"), call.mark(2, "initial"))
    if func is not None:
        call.heap.put(result, FUNCTION, func)
    return call.callee_mark


@TABLE.rule(itertools.count, itertools.repeat, itertools.cycle)
def _of_values(call: NativeCall, result: Any) -> Optional[Mark]:
    times = call.mark(1, "times") if call.callee is itertools.repeat else None
    mark = join(call.mark(0, "start"), call.named_marks.get("object"), None if times else call.mark(1, "step"))
    if mark is not None:
        call.heap.put(result, item(0), mark)
    return call.callee_mark


@TABLE.rule(
    itertools.product, itertools.permutations, itertools.combinations, itertools.combinations_with_replacement,
)
def _of_pools(call: NativeCall) -> Any:
    pools = [ahead(call.heap, value, mark) for value, mark in zip(call.args, call.marks)]
    result = yield
    made = referents(result)[0]
    owners = made if call.callee is itertools.product else (made,)
    for number, owner in enumerate(owners):
        source = pools[number % len(pools)]
        fill(call, owner, elements.assigned(call, source, owner))
    return call.callee_mark


@TABLE.rule(itertools.tee)
def _tee(call: NativeCall) -> Any:
    source = ahead(call.heap, call.args[0], call.mark(0))
    reached = join(call.mark(0), call.heap.reach(call.args[0]))
    result = yield
    for one in result:
        call.heap.add(one, ELEMENTS, reached)
        if reached is not None and source.flows is not None:
            call.heap.set_note(one, source.flows)
    return call.callee_mark


# --------------------------------------------------------------------------- what they give


def _unknown(reader: Callable[[Heap, Any], Optional[Mark]]) -> Callable[[Heap, Any, Optional[Mark]], Ahead]:
    return lambda heap, iterator, mark: Ahead(None, rest=join(mark, reader(heap, iterator)))


def _own_last(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    return Flow(value, join(mark, heap.any(iterator), *returned))


def _chain_ahead(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
    found = referents(iterator)
    if not found:
        return Ahead([])
    flows: List[Flow] = []
    outer = ahead(heap, found[0], heap.get(iterator, ELEMENTS))
    if outer.flows is None:
        return Ahead(None, rest=join(mark, outer.rest, *[heap.reach(one) for one in found]))
    first = _outer_index(found[0]) - 1
    active = [(found[1], heap.get(iterator, item(first)))] if len(found) > 1 else []
    marks = [heap.get(iterator, item(first + 1 + i)) for i in range(len(outer.flows))]
    rest = [(flow.value, join(flow.mark, mark)) for flow, mark in zip(outer.flows, marks)]
    for inner, inner_mark in active + rest:
        source = ahead(heap, inner, join(mark, inner_mark)) if inner is not MISSING else Ahead(None, rest=inner_mark)
        if source.flows is None:
            reached = None if elements.is_driven(inner) else heap.reach(iterator)
            return Ahead(None, rest=join(mark, *[flow.union() for flow in flows], source.rest, reached))
        flows.extend(source.flows)
    return Ahead(flows)


def _outer_index(outer: Any) -> int:
    """How many iterables a chain has taken from the tuple of its arguments."""
    made = outer.__reduce__() if type(outer) is type(iter(())) else ()
    return int(made[2]) if len(made) > 2 else 0


def _chain_last(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    found = referents(iterator)
    if len(found) < 2:
        return Flow(value, join(mark, heap.any(iterator), *returned))
    at = heap.get(iterator, item(_outer_index(found[0]) - 1))
    outer = None
    if heap.get(iterator, ELEMENTS) is not None or type(found[0]) is not type(iter(())):
        outer = last(heap, found[0], heap.get(iterator, ELEMENTS), found[1], ()).mark
    flow = last(heap, found[1], join(mark, at, outer), value, returned)
    return flow


def _filtered_ahead(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
    found = referents(iterator)
    if not found:
        return Ahead([])
    return subsequence(inner_ahead(heap, iterator, found[:1])[0], mark)


def _starmap_ahead(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
    inner, func = referents(iterator)[:2]
    source = ahead(heap, inner, heap.get(iterator, item(0)))
    func_mark = join(mark, heap.get(iterator, FUNCTION))
    if is_python_callable(func):
        return Ahead(None, source.flows is not None, func_mark)
    return Ahead(None, rest=join(func_mark, source.union(), heap.reach(inner)))


def _starmap_last(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    inner, func = referents(iterator)[:2]
    func_mark = join(mark, heap.get(iterator, FUNCTION))
    if is_python_callable(func):
        return Flow(value, join(func_mark, *returned[-1:]))
    return Flow(value, join(func_mark, *returned, heap.get(iterator, item(0)), heap.reach(inner)))


def _folding(iterator: Any) -> Any:
    """The function of an `accumulate`, None where it adds."""
    first = referents(iterator)[0]
    return None if hasattr(type(first), "__next__") else first


def _accumulated(iterator: Any) -> List[Any]:
    """What an `accumulate` refers to after its function: the iterator, the total, the initial value."""
    found = referents(iterator)
    return found if _folding(iterator) is None else found[1:]


def _accumulate_ahead(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
    found = _accumulated(iterator)
    source = ahead(heap, found[0], heap.get(iterator, item(0)))
    func = heap.get(iterator, FUNCTION)
    if source.flows is None or is_python_callable(_folding(iterator)):
        return Ahead(None, rest=join(mark, func, source.union(), heap.get(iterator, _Fold)))
    total = join(mark, func, heap.get(iterator, _Fold))
    flows = []
    for flow in source.flows:
        total = join(total, flow.union(), visible(heap, flow.value) if flow.value is not MISSING else None)
        flows.append(Flow(MISSING, total))
    return Ahead(None, rest=total) if found[-1] is not None else Ahead(flows, rest=total)


def _accumulate_last(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    inner = _accumulated(iterator)[0]
    taken = last(heap, inner, heap.get(iterator, item(0)), value, returned)
    func = heap.get(iterator, FUNCTION)
    total = join(heap.get(iterator, _Fold), func, taken.union(), visible(heap, value), *returned)
    heap.put(iterator, _Fold, total)
    return Flow(value, join(mark, total))


def _groupby_last(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    inner, func = referents(iterator)[:2]
    taken = last(heap, inner, heap.get(iterator, item(0)), MISSING, returned)
    key = join(heap.get(iterator, FUNCTION), *returned) if is_python_callable(func) else taken.union()
    heap.put(value[1], item(0), taken.mark)
    heap.add(value[1], ELEMENTS, taken.union() if taken.parts else None)
    return Flow(value, mark, (Flow(value[0], key), Flow(value[1], None)))


def _grouper_source(heap: Heap, grouper: Any) -> Tuple[Any, Optional[Mark]]:
    for one in referents(grouper):
        if type(one) is itertools.groupby:
            return referents(one)[0], heap.get(one, item(0))
    return None, None


def _grouper_ahead(heap: Heap, grouper: Any, mark: Optional[Mark]) -> Ahead:
    inner, inner_mark = _grouper_source(heap, grouper)
    if inner is None:
        return Ahead(None, rest=join(mark, heap.any(grouper)))
    source = ahead(heap, inner, join(mark, inner_mark))
    first = join(heap.any(grouper))
    if source.flows is None:
        return Ahead(None, False, join(source.rest, first))
    taken = _first_of_group(grouper)
    known = [Flow(taken, join(mark, heap.get(grouper, item(0)), heap.get(grouper, ELEMENTS)))]
    return Ahead(known + source.flows, False, join(source.rest, first))


def _first_of_group(grouper: Any) -> Any:
    for one in referents(grouper):
        if type(one) is itertools.groupby:
            found = referents(one)
            return found[-1] if len(found) > 2 else MISSING
    return MISSING


def _grouper_last(heap: Heap, grouper: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    inner, inner_mark = _grouper_source(heap, grouper)
    own = join(mark, heap.any(grouper))
    if inner is None:
        return Flow(value, own)
    if value is _first_of_group(grouper) and taken_is(inner, value):
        return Flow(value, join(own, last(heap, inner, inner_mark, value, ()).union()))
    return Flow(value, join(own, heap.reach(inner)))


def taken_is(inner: Any, value: Any) -> bool:
    """Whether an iterator over a list gave ``value`` last."""
    made: Any = inner.__reduce__() if type(inner) is type(iter([])) else ()
    return len(made) > 2 and 0 < made[2] <= len(made[1][0]) and made[1][0][made[2] - 1] is value


def _cycle_last(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    found = referents(iterator)
    inner, saved = (found[0], found[1]) if len(found) > 1 else (None, found[0] if found else [])
    mark = join(mark, heap.get(iterator, item(0)))
    if inner is not None and saved and saved[-1] is value and not heap.get(iterator, attribute("again")):
        flow = last(heap, inner, mark, value, returned)
        heap.add(iterator, ELEMENTS, flow.union())
        return flow
    return Flow(value, join(mark, heap.get(iterator, ELEMENTS), heap.reach(inner), *returned))


def _pool_last(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    made = referents(iterator)[0]
    parts = []
    for index, one in enumerate(value):
        pool = made[index] if type(iterator) is itertools.product else made
        flows = [Flow(v, heap.get(pool, item(i))) for i, v in enumerate(pool)]
        parts.append(elements.identified(Ahead(flows, False), [one])[0])
    return Flow(value, mark, tuple(parts))


def _pool_ahead(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
    return Ahead(None, rest=join(mark, heap.reach(iterator)),
                 tell=lambda value: _pool_last(heap, iterator, mark, value, ()))


def _cycle_ahead(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
    """It gives what is left of its source and what it has seen, for ever."""
    found = referents(iterator)
    inner = [one for one in found if type(one) is not list]
    whole = Ahead(None, rest=join(mark, heap.reach(iterator)))
    if len(inner) != 1 or heap.get(iterator, ELEMENTS) is not None:
        return whole  # what was seen already is marked as a whole
    source = ahead(heap, inner[0], join(mark, heap.get(iterator, item(0))))
    return whole if source.flows is None else Ahead(source.flows, False)


def _tee_ahead(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
    flows = heap.note(iterator)
    if flows is None:
        return Ahead(None, rest=join(mark, heap.reach(iterator)))
    return subsequence(Ahead(flows, False), mark)


def _tee_last(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    flows = heap.note(iterator)
    if flows is None:
        return Flow(value, join(mark, heap.reach(iterator), *returned))
    flow = elements.identified(Ahead(flows, False), [value])[0]
    return flow._replace(mark=join(flow.mark, mark))


def _zip_longest_ahead(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
    """Until one of its sources is exhausted; what is filled in carries the mark of the filling."""
    kept = referents(iterator)[0] if referents(iterator) else ()
    sources = _gc_referents(kept)[::-1]
    inner = inner_ahead(heap, iterator, sources)
    if len(sources) != len(kept) or any(source.flows is None or not source.aligned for source in inner):
        return _coarse(heap, iterator, mark)
    missing = Flow(MISSING, heap.get(iterator, FUNCTION))
    rows = itertools.zip_longest(*[source.flows or () for source in inner], fillvalue=missing)
    return Ahead([Flow(MISSING, mark, row) for row in rows])


def _is_ready_pair(value: Any) -> bool:
    """Whether a `pairwise` keeps this tuple for the pair that it will give first."""
    return type(value) is tuple and all(one is None for one in value)


def _window_ahead(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Ahead:
    inner = referents(iterator)
    source = ahead(heap, inner[0], heap.get(iterator, item(0))) if inner else Ahead([])
    whole = _coarse(heap, iterator, mark)
    if source.flows is None or not all(map(_is_ready_pair, inner[1:])):  # it has begun, and holds what it took
        return whole
    flows = source.flows
    return whole._replace(tell=lambda value: Flow(value, mark, tuple(elements.identified(Ahead(flows, False), value))))


def _zip_longest_last(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    kept = referents(iterator)[0]
    sources = _gc_referents(kept)[::-1]  # an exhausted one has left a hole in the tuple, which must not be read
    marks = [heap.get(iterator, item(index)) for index in range(len(value))]
    missing = heap.get(iterator, FUNCTION)
    if len(sources) == len(value):
        flows = inner_last(heap, iterator, sources, [MISSING] * len(sources), returned)
        return Flow(value, mark, tuple(Flow(one, join(missing, flow.union())) for one, flow in zip(value, flows)))
    found = join(missing, *marks, *[last(heap, one, None, MISSING, returned).union() for one in sources])
    return Flow(value, mark, tuple(Flow(one, found) for one in value))


def _window_last(heap: Heap, iterator: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    """`pairwise` and `batched`: neighbours of one source, found by what they are."""
    source = heap.get(iterator, item(0))
    inner = referents(iterator)
    known = _behind(heap, inner[0], source) if inner else None
    if known is None:
        return Flow(value, join(mark, source, *returned, *[heap.reach(one) for one in inner]))
    found = elements.identified(Ahead(known, False), value)
    return Flow(value, mark, tuple(found))


def _behind(heap: Heap, iterator: Any, mark: Optional[Mark]) -> Optional[List[Flow]]:
    """The flows of everything in the list or tuple that ``iterator`` runs over."""
    if type(iterator) not in OVER_LISTS:
        return None
    made = iterator.__reduce__()
    return ahead(heap, made[1][0], mark).flows if len(made) > 2 else None


_coarse = _unknown(lambda heap, iterator: heap.reach(iterator))
_values = _unknown(lambda heap, iterator: heap.any(iterator))

_LASTS: Sequence[Tuple[Any, Any, Any]] = (
    (itertools.chain, _chain_ahead, _chain_last),
    (itertools.islice, _filtered_ahead, delegating_last(0)),
    (itertools.takewhile, _filtered_ahead, delegating_last(0)),
    (itertools.dropwhile, _filtered_ahead, delegating_last(0)),
    (itertools.filterfalse, _filtered_ahead, delegating_last(0)),
    (itertools.compress, _filtered_ahead, delegating_last(0)),
    (itertools.starmap, _starmap_ahead, _starmap_last),
    (itertools.accumulate, _accumulate_ahead, _accumulate_last),
    (itertools.groupby, _coarse, _groupby_last),
    (type(next(itertools.groupby([1]))[1]), _grouper_ahead, _grouper_last),
    (itertools.count, _values, _own_last),
    (itertools.repeat, _values, _own_last),
    (itertools.cycle, _cycle_ahead, _cycle_last),
    (itertools.product, _pool_ahead, _pool_last),
    (itertools.permutations, _pool_ahead, _pool_last),
    (itertools.combinations, _pool_ahead, _pool_last),
    (itertools.combinations_with_replacement, _pool_ahead, _pool_last),
    (itertools.zip_longest, _zip_longest_ahead, _zip_longest_last),
    (_pairwise, _window_ahead, _window_last),
    (_batched, _window_ahead, _window_last),
    (type(itertools.tee(())[0]), _tee_ahead, _tee_last),
)
for _type, _rest, _given in _LASTS:
    if _type is not None:
        elements.known(_type, _rest, _given)
