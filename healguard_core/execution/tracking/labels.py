"""Marks: what is known about a value in flight, or about a location, that depends on a heal. Imports nothing of ours.

A clean value has no mark (None). Marks never change; joining and stepping make new ones.
"""

from types import CodeType
from typing import Any, Iterator, List, Optional, Tuple

Place = Tuple[CodeType, int]
"""Where a value passed by: a code object and a line."""

MOST_STEPS = 60
_LOOK_BACK = 4  # a loop repeats its few lines; they are in the path once


class _Step:
    """One place of a path, linked to the one before it."""

    __slots__ = ("before", "count", "place")

    def __init__(self, place: Place, before: "Optional[_Step]") -> None:
        self.place = place
        self.before = before
        self.count: int = 1 if before is None else before.count + 1


class Mark:
    """``heals``: a bit mask, bit k for heal number k. ``sure``: those among them whose way here was followed exactly.

    ``budget``: the time for following values was used up on the way. ``condition``: the declared condition that the
    value was read from, None for most.
    """

    __slots__ = ("budget", "condition", "heals", "steps", "sure")

    def __init__(
        self, heals: int, sure: int, steps: Optional[_Step] = None, budget: bool = False, condition: Any = None
    ) -> None:
        self.heals = heals
        self.sure = sure
        self.steps = steps
        self.budget = budget
        self.condition = condition

    @property
    def exact(self) -> bool:
        """Whether no part of the mark rests on an approximation."""
        return self.sure == self.heals

    def numbers(self) -> List[int]:
        """The numbers of the heals, ascending."""
        return [number for number in range(self.heals.bit_length()) if self.heals >> number & 1]

    def coarse(self) -> "Mark":
        """The same mark, resting on an approximation."""
        return self if not self.sure else Mark(self.heals, 0, self.steps, self.budget, self.condition)

    def stepped(self, place: Place) -> "Mark":
        """The mark after its value passed ``place``."""
        step = self.steps
        for _ in range(_LOOK_BACK):
            if step is None:
                break
            if step.place == place:
                return self
            step = step.before
        if self.steps is not None and self.steps.count >= MOST_STEPS:
            return self
        return Mark(self.heals, self.sure, _Step(place, self.steps), self.budget, self.condition)

    def read_from(self, condition: Any) -> "Mark":
        """The mark of a value that was read from a declared ``condition``."""
        return Mark(self.heals, self.sure, self.steps, self.budget, condition)

    def places(self) -> List[Place]:
        """The places that the value passed, from the heal on."""
        return list(self._backward())[::-1]

    def _backward(self) -> Iterator[Place]:
        step = self.steps
        while step is not None:
            yield step.place
            step = step.before


def of_heal(number: int, place: Optional[Place] = None) -> Mark:
    """The mark of what heal ``number`` (from 0) writes, at ``place``."""
    return Mark(1 << number, 1 << number, None if place is None else _Step(place, None))


def join(*marks: Optional[Mark]) -> Optional[Mark]:
    """What a value carries that was computed from values with these marks."""
    found: Optional[Mark] = None
    for mark in marks:
        if mark is not None and mark is not found:
            found = mark if found is None else _joined(found, mark)
    return found


def _joined(one: Mark, other: Mark) -> Mark:
    heals, sure, budget = one.heals | other.heals, one.sure | other.sure, one.budget or other.budget
    condition = one.condition or other.condition
    for mark in (one, other):
        if mark.heals == heals and mark.sure == sure and mark.budget == budget and mark.condition is condition:
            return mark
    return Mark(heals, sure, one.steps or other.steps, budget, condition)


def coarse(mark: Optional[Mark]) -> Optional[Mark]:
    """``mark`` as one that rests on an approximation."""
    return None if mark is None else mark.coarse()
