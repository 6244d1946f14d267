"""Native operations over a few plain values, each as a function of a stage, the values and their marks.

Every operation says whether elements are told apart (``precise``). It returns what the program holds afterwards, as
pairs of a value and the mark of the reference to it.
"""

import bisect
import collections
import heapq
import itertools
import operator
from typing import Any, NamedTuple

from healguard_core.execution.tracking.heap import item

from .driving import Stage

deque, ordered = collections.deque, collections.OrderedDict


class Operation(NamedTuple):
    name: str
    run: Any
    precise: bool = True


OPERATIONS: list[Operation] = []


def operation(precise: bool = True):
    def register(run):
        OPERATIONS.append(Operation(run.__name__, run, precise))
        return run

    return register


def listed(stage: Stage, values, marks, kind=list):
    """A container with the values, each with its mark."""
    made = kind(values)
    for index, mark in enumerate(marks):
        if mark is not None:
            stage.heap.put(made, item(index), mark)
    return made


def keyed(stage: Stage, values, marks, kind=dict):
    """A dictionary k0, k1, ... of the values, each with its mark."""
    made = kind()
    for index, (value, mark) in enumerate(zip(values, marks, strict=True)):
        made[f"k{index}"] = value
        stage.heap.put(made, item(f"k{index}"), mark)
    return made


def of_one(name, callee, *rest, **kwargs):
    """``callee(value, *rest)``: everything that comes of it is marked."""

    def run(stage, values, marks):
        return [stage.call(callee, values[0], *rest, marks=[marks[0]], **kwargs)]

    OPERATIONS.append(Operation(name, run, False))


def of_many(name, callee, *rest, kind=list, precise=True, **kwargs):
    """``callee(container, *rest)``, of which the container and the result are looked at."""

    def run(stage, values, marks):
        made = listed(stage, values, marks, kind)
        result = stage.call(callee, made, *rest, **kwargs)
        return [(made, None), result]

    OPERATIONS.append(Operation(name, run, precise))


def of_keys(name, callee, *rest, kind=dict, precise=True, **kwargs):
    """The same with a dictionary."""

    def run(stage, values, marks):
        made = keyed(stage, values, marks, kind)
        result = stage.call(callee, made, *rest, **kwargs)
        return [(made, None), result]

    OPERATIONS.append(Operation(name, run, precise))


# --------------------------------------------------------------------------- lists, tuples, deques

for _kind in (list, tuple, deque):
    of_many(f"{_kind.__name__} of a list", _kind)
    of_many(f"list made of a {_kind.__name__}", list, kind=_kind)
    of_many(f"{_kind.__name__} twice", operator.mul, 2, kind=_kind)
    of_many(f"{_kind.__name__} item", operator.getitem, 1, kind=_kind)
    of_many(f"{_kind.__name__} last item", operator.getitem, -1, kind=_kind)
    of_many(f"{_kind.__name__} as text", repr, kind=_kind, precise=False)
for _kind in (list, tuple):
    of_many(f"{_kind.__name__} slice", operator.getitem, slice(1, None), kind=_kind)
    of_many(f"{_kind.__name__} reversed slice", operator.getitem, slice(None, None, -1), kind=_kind)
    of_many(f"{_kind.__name__} concatenated", operator.add, _kind(["end"]), kind=_kind)
of_many("sorted", sorted)
of_many("sorted backwards", sorted, reverse=True)
of_many("sorted by method", sorted, key=str.lower)
of_many("itemgetter", operator.itemgetter(0, 2))
of_many("max", max, precise=False)
of_many("min by key", min, key=str.lower)
of_many("any", any, precise=False)
of_many("join", ", ".join, precise=False)
of_many("list.append", list.append, "end")
of_many("list.insert", list.insert, 1, "between")
of_many("list.insert from the end", list.insert, -1, "between")
of_many("list.extend", list.extend, ("a", "b"))
of_many("list +=", operator.iadd, ("a", "b"))
of_many("list.pop", list.pop)
of_many("list.pop first", list.pop, 0)
of_many("list.reverse", list.reverse)
of_many("list.sort", list.sort)
of_many("list.sort by key", list.sort, key=str.lower, reverse=True)
of_many("list.copy", list.copy)
of_many("list item store", operator.setitem, 1, "new")
of_many("list slice store", operator.setitem, slice(1, 2), ["new", "newer"])
of_many("list step store", operator.setitem, slice(0, 3, 2), ["new", "newer"])
of_many("list item delete", operator.delitem, 0)
of_many("list slice delete", operator.delitem, slice(0, 2))
of_many("list *= 2", operator.imul, 2)
of_many("deque.append", deque.append, "end", kind=deque)
of_many("deque.appendleft", deque.appendleft, "front", kind=deque)
of_many("deque.insert", deque.insert, 1, "between", kind=deque)
of_many("deque.popleft", deque.popleft, kind=deque)
of_many("deque.pop", deque.pop, kind=deque)
of_many("deque.rotate", deque.rotate, 1, kind=deque)
of_many("deque.rotate back", deque.rotate, -2, kind=deque)
of_many("deque.reverse", deque.reverse, kind=deque)
of_many("deque.extend", deque.extend, ["a", "b"], kind=deque)
of_many("deque.extendleft", deque.extendleft, ["a", "b"], kind=deque)
of_many("bounded deque.append", deque.append, "end", kind=lambda values: deque(values, len(values)))
of_many("bounded deque.extend", deque.extend, "abc", kind=lambda values: deque(values, len(values)))
of_many("bounded deque.appendleft", deque.appendleft, "a", kind=lambda values: deque(values, len(values)))
of_many("heappush", heapq.heappush, "h")
of_many("heappop", heapq.heappop)
of_many("heapreplace", heapq.heapreplace, "zz")
of_many("heapify", heapq.heapify)
of_many("insort", bisect.insort, "hm")


@operation()
def append_value(stage, values, marks):
    made = list(values[1:])
    for index, mark in enumerate(marks[1:]):
        stage.heap.put(made, item(index), mark)
    stage.call(made.append, values[0], marks=[marks[0]])
    stage.call(list.insert, made, 0, "first")
    return [(made, None)]


@operation()
def extend_by_values(stage, values, marks):
    made = ["first"]
    stage.call(made.extend, listed(stage, values, marks))
    return [(made, None)]


@operation()
def stored_slice(stage, values, marks):
    made = ["a", "b", "c", "d"]
    stage.call(operator.setitem, made, slice(1, 3), listed(stage, values, marks))
    return [(made, None)]


@operation()
def removed(stage, values, marks):
    made = ["gone", *values]
    for index, mark in enumerate(marks):
        stage.heap.put(made, item(index + 1), mark)
    stage.call(made.remove, "gone")
    return [(made, None)]


# --------------------------------------------------------------------------- iterators, by steps and all at once


def iterated(name, make, precise=True, consumed_precisely=False):
    """An iterator that ``make`` gives: stepped through, consumed by a list, and consumed after one step."""

    def stepped(stage, values, marks):
        iterator, mark = make(stage, values, marks)
        found = []
        for _ in range(8):
            try:
                found.append(stage.step(iterator, mark))
            except StopIteration:
                break
        return found

    def consumed(stage, values, marks):
        iterator, mark = make(stage, values, marks)
        return [stage.call(list, iterator, marks=[mark])]

    def resumed(stage, values, marks):
        iterator, mark = make(stage, values, marks)
        first = [stage.step(iterator, mark)]
        return [*first, stage.call(tuple, iterator, marks=[mark])]

    OPERATIONS.append(Operation(f"steps of {name}", stepped, precise))
    OPERATIONS.append(Operation(f"all of {name}", consumed, consumed_precisely))
    OPERATIONS.append(Operation(f"rest of {name}", resumed, consumed_precisely))


def over(callee, *before, kind=list, after=(), **kwargs):
    def make(stage, values, marks):
        return stage.call(callee, *before, listed(stage, values, marks, kind), *after, **kwargs)

    return make


def over_view(callee, method, kind=dict):
    def make(stage, values, marks):
        view, mark = stage.call(method, keyed(stage, values, marks, kind))
        return stage.call(callee, view, marks=[mark])

    return make


def sure(name, make):
    iterated(name, make, True, True)


sure("a list", over(iter))
sure("a tuple", over(iter, kind=tuple))
sure("a deque", over(iter, kind=deque))
sure("reversed", over(reversed))
sure("reversed tuple", over(reversed, kind=tuple))
sure("enumerate", over(enumerate))
sure("enumerate from 3", over(enumerate, after=(3,)))
sure("zip", over(zip, ["a", "b", "c", "d", "e", "f"]))
sure("map of a method", over(map, str.upper))
sure("filter", over(filter, None))
sure("filter by a method", over(filter, str.isascii))
sure("values", over_view(iter, dict.values))
sure("items", over_view(iter, dict.items))
sure("enumerated items", over_view(enumerate, dict.items))
iterated("ordered items", over_view(iter, ordered.items, ordered), precise=False)
iterated("reversed items", over_view(reversed, dict.items), precise=False)
sure("chain", over(itertools.chain, ["a", "b"]))
sure("chain.from_iterable", lambda stage, values, marks: stage.call(
    itertools.chain.from_iterable, [["a"], listed(stage, values, marks)]))
sure("islice", over(itertools.islice, after=(1, 4)))
sure("takewhile", over(itertools.takewhile, bool))
sure("dropwhile", over(itertools.dropwhile, str.isupper))
sure("filterfalse", over(itertools.filterfalse, str.isupper))
sure("compress", over(itertools.compress, after=([1, 0, 1, 1, 0, 1],)))
iterated("starmap", lambda stage, values, marks: stage.call(itertools.starmap, operator.add, [
    listed(stage, [value, "x"], [mark, None], tuple) for value, mark in zip(values, marks, strict=True)]), False)
iterated("accumulate", over(itertools.accumulate), False)
iterated("accumulate by function", over(itertools.accumulate, after=(max,)), False)
iterated("product", over(itertools.product, ["a"]))
iterated("permutations", over(itertools.permutations, after=(2,)))
iterated("combinations", over(itertools.combinations, after=(2,)))
iterated("pairwise", over(itertools.pairwise))
iterated("zip_longest", over(itertools.zip_longest, ["a"]), False)
iterated("cycle", lambda stage, values, marks: stage.call(
    itertools.islice, stage.call(itertools.cycle, listed(stage, values, marks))[0], 7), False)
iterated("tee", lambda stage, values, marks: (
    stage.call(itertools.tee, listed(stage, values, marks))[0][0], None), False)
sure("map by callback", lambda stage, values, marks: stage.call(
    map, stage.callback(lambda value: value + "!"), listed(stage, values, marks)))
sure("filter by callback", lambda stage, values, marks: stage.call(
    filter, stage.callback(bool, through=False), listed(stage, values, marks)))


@operation(precise=False)
def grouped(stage, values, marks):
    groups, mark = stage.call(itertools.groupby, listed(stage, values, marks), len)
    found = []
    for _ in range(len(values)):
        try:
            pair, _ = stage.step(groups, mark)
        except StopIteration:
            break
        found.append(stage.step(pair[1], stage.heap.get(pair, item(1))))
    return found


@operation(precise=False)
def grouped_whole(stage, values, marks):
    groups, mark = stage.call(itertools.groupby, listed(stage, values, marks), bool)
    pair, _ = stage.step(groups, mark)
    return [stage.call(list, pair[1], marks=[stage.heap.get(pair, item(1))])]


# --------------------------------------------------------------------------- dictionaries and sets

for _kind in (dict, ordered):
    _name = _kind.__name__
    of_keys(f"{_name} item", operator.getitem, "k1", kind=_kind)
    of_keys(f"{_name}.get", _kind.get, "k0", kind=_kind)
    of_keys(f"{_name}.get default", _kind.get, "none", "default", kind=_kind)
    of_keys(f"{_name}.pop", _kind.pop, "k0", kind=_kind)
    of_keys(f"{_name}.pop default", _kind.pop, "none", "default", kind=_kind)
    of_keys(f"{_name}.popitem", _kind.popitem, kind=_kind)
    of_keys(f"{_name}.setdefault", _kind.setdefault, "k0", "default", kind=_kind)
    of_keys(f"{_name}.setdefault new", _kind.setdefault, "new", "default", kind=_kind)
    of_keys(f"{_name}.copy", _kind.copy, kind=_kind)
    of_keys(f"{_name} |", operator.or_, {"k0": "other", "more": 1}, kind=_kind)
    of_keys(f"{_name} |=", operator.ior, {"k0": "other", "more": 1}, kind=_kind)
    of_keys(f"{_name}.update", _kind.update, {"k1": "other"}, kind=_kind)
    of_keys(f"{_name} store", operator.setitem, "k0", "other", kind=_kind)
    of_keys(f"{_name} delete", operator.delitem, "k0", kind=_kind)
    of_keys(f"{_name} again", _kind, kind=_kind)
    of_keys(f"keys of {_name}", list, kind=_kind)
    of_keys(f"text of {_name}", str, kind=_kind, precise=False)
of_keys("OrderedDict.move_to_end", ordered.move_to_end, "k0", kind=ordered)
of_keys("itemgetter of dict", operator.itemgetter("k0", "k2"))


@operation()
def updated(stage, values, marks):
    made = {"k0": "before", "other": 1}
    stage.call(made.update, keyed(stage, values, marks))
    return [(made, None)]


@operation()
def updated_by_name(stage, values, marks):
    made = {"k0": "before"}
    stage.call(made.update, a=values[0], b=values[1], named_marks={"a": marks[0], "b": marks[1]})
    return [(made, None)]


@operation()
def dict_of_zip(stage, values, marks):
    pairs, mark = stage.call(zip, ["a", "b", "c", "d", "e", "f"], listed(stage, values, marks))
    return [stage.call(dict, pairs, marks=[mark])]


@operation(precise=False)
def dict_of_keys(stage, values, marks):
    pairs, mark = stage.call(zip, listed(stage, values, marks), "abcdef")
    return [stage.call(dict, pairs, marks=[mark])]


@operation()
def dict_of_pairs(stage, values, marks):
    pairs = [listed(stage, [f"k{i}", value], [None, marks[i]], tuple) for i, value in enumerate(values)]
    return [stage.call(dict, pairs)]


@operation(precise=False)
def fromkeys(stage, values, marks):
    return [stage.call(dict.fromkeys, listed(stage, values, marks), 1)]


@operation(precise=False)
def counted(stage, values, marks):
    made = {}
    stage.call(collections._count_elements, made, listed(stage, values, marks))
    return [(made, None)]


@operation(precise=False)
def stored_key(stage, values, marks):
    made = {"other": 1}
    stage.call(operator.setitem, made, values[0], "x", marks=[None, marks[0], None])
    return [(made, None)]


@operation()
def default_made(stage, values, marks):
    made = collections.defaultdict(list)
    found, mark = stage.call(operator.getitem, made, "a")
    stage.call(found.append, values[0], marks=[marks[0]])
    stage.call(operator.getitem, made, "b")
    return [(made, None), (found, mark)]


@operation()
def set_members(stage, values, marks):
    made, mark = stage.call(set, listed(stage, values, marks))
    other, _ = stage.call(set.union, made, ["more"])
    stage.call(made.add, "more")
    stage.call(made.discard, "more")
    narrowed, narrowed_mark = stage.call(operator.and_, other, made)
    return [(made, mark), (other, None), (narrowed, narrowed_mark)]


@operation()
def set_of_set(stage, values, marks):
    made, _ = stage.call(frozenset, listed(stage, values, marks))
    target = {"first"}
    stage.call(target.update, made)
    return [(target, None), stage.call(sorted, target), stage.call(list, made)][:2]
