"""Marks of locations: elements, shifts, what is reachable, what is forgotten."""

from __future__ import annotations

import gc
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healguard_core.execution.tracking.heap import ELEMENTS, KEY, WHOLE, Heap, attribute, item
from healguard_core.execution.tracking.labels import MOST_STEPS, join, of_heal

ONE, TWO = of_heal(1), of_heal(2)


class Plain:
    pass


class Slotted:
    __slots__ = ("held",)


def test_a_sibling_stays_clean() -> None:
    heap, owner = Heap(), ["a", "b"]
    heap.put(owner, item(0), ONE)
    assert heap.get(owner, item(0)) is ONE
    assert heap.get(owner, item(1)) is None


def test_an_overwritten_location_is_clean_even_in_what_is_marked_as_a_whole() -> None:
    heap, owner = Heap(), Plain()
    heap.put(owner, WHOLE, ONE)
    heap.put(owner, attribute("now"), None)
    assert heap.get(owner, attribute("now")) is None
    assert heap.get(owner, attribute("other")) is ONE


def test_equal_values_share_no_mark() -> None:
    heap, one, other = Heap(), [()], [()]
    heap.put(one, item(0), ONE)
    assert heap.get(other, item(0)) is None


@pytest.mark.parametrize("key", [1, True, "a", b"a", None, (1, "a"), frozenset((1,)), 1.5, int, print])
def test_keys_are_taken_by_their_value(key: Any) -> None:
    heap, owner = Heap(), {key: 1, "sibling": 2}
    heap.put(owner, item(key), ONE)
    heap.put(owner, KEY(key), TWO)
    assert heap.get(owner, item(key)) is ONE
    assert heap.get(owner, KEY(key)) is TWO
    assert heap.get(owner, item("sibling")) is None


def test_keys_that_compare_by_program_code_run_none() -> None:
    class Counted:
        asked = 0

        def __hash__(self) -> int:
            Counted.asked += 1
            return 1

        def __eq__(self, other: object) -> bool:
            Counted.asked += 1
            return True

    heap, owner = Heap(), {}
    heap.put(owner, item(Counted()), ONE)
    assert Counted.asked == 0
    assert heap.get(owner, ELEMENTS) is ONE


@given(st.lists(st.tuples(st.sampled_from("ird"), st.integers(0, 9)), max_size=30))
def test_shifts_follow_the_elements_of_a_list(steps: list[tuple[str, int]]) -> None:
    heap, owner = Heap(), [f"{n}" for n in range(5)]
    owner[2] = "healed"
    heap.put(owner, item(2), ONE)
    for step, place in steps:
        if step == "i":
            index = min(place, len(owner))
            owner.insert(index, "new")
            heap.inserted(owner, index)
        elif step == "d" and owner:
            index = place % len(owner)
            del owner[index]
            heap.removed(owner, index)
        elif step == "r":
            owner.reverse()
            heap.moved(owner, lambda old: len(owner) - 1 - old)
        marked = [index for index in range(len(owner)) if heap.get(owner, item(index))]
        assert marked == [index for index, value in enumerate(owner) if value == "healed"]


def test_what_is_reachable_counts_through_any_nesting() -> None:
    heap, inner = Heap(), ["healed"]
    heap.put(inner, item(0), ONE)
    deep: Any = inner
    for wrap in (lambda v: [v], lambda v: {"k": v}, lambda v: (v,), _in_instance, _in_slot):
        deep = wrap(deep)
        assert heap.reach(deep) is ONE
    assert heap.reach([Plain()]) is None


def _in_instance(value: Any) -> Plain:
    made = Plain()
    made.held = value  # type: ignore[attr-defined]
    return made


def _in_slot(value: Any) -> Slotted:
    made = Slotted()
    made.held = value
    return made


def test_what_nobody_has_any_more_is_forgotten() -> None:
    heap = Heap()
    heap.put(Plain(), attribute("x"), ONE)
    gc.collect()
    assert not heap
    heap.put([random.random()], item(0), ONE)
    heap.prune()
    assert not heap


def test_joining_keeps_every_heal_and_says_what_is_sure() -> None:
    both = join(ONE, None, TWO.coarse())
    assert both is not None
    assert both.numbers() == [1, 2]
    assert not both.exact
    assert join(ONE, ONE) is ONE
    assert join(None, None) is None


def test_a_path_is_bounded_and_a_loop_is_in_it_once() -> None:
    code = test_a_sibling_stays_clean.__code__
    mark = ONE
    for _ in range(10):
        for line in (1, 2):
            mark = mark.stepped((code, line))
    assert mark.places() == [(code, 1), (code, 2)]
    for line in range(500):
        mark = mark.stepped((code, line))
    assert len(mark.places()) == MOST_STEPS
