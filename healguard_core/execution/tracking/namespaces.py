"""Variables that are read as a mapping: by `locals`, by code made from text, from a frame. May import variables.

What such a mapping holds under a name carries the mark of the variable.
"""

from types import FrameType
from typing import Any, Optional, Sequence

from healguard_core.execution.tracking.heap import Heap, item
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.shadow import Flight, Shadow
from healguard_core.execution.tracking.variables import mark_of_slot


def looks(shadow: Shadow) -> bool:
    """Whether the frame of ``shadow`` has a marked variable, and code that may take its variables for a mapping."""
    return shadow.program.looks and _union(shadow) is not None


def begun(shadow: Shadow, callee: Any, args: Sequence[Any]) -> None:
    """A call has begun that may give the variables of ``shadow`` as a mapping, or run code that sees them."""
    if callee is locals or (callee is vars and not args):
        _give(shadow, shadow)
    elif (callee is eval or callee is exec) and shadow.flight is not None and all(one is None for one in args[1:]):
        shadow.flight.variables = shadow
        shadow.flight.pairs.append((..., _union(shadow)))


def read_from(shadow: Shadow, owner: Any) -> None:
    """``f_locals`` of ``owner`` is about to be loaded: of a frame, perhaps, that is followed."""
    of_frame = shadow.machine.shadow_of(owner) if type(owner) is FrameType else None
    if of_frame is not None and _union(of_frame) is not None:
        _give(shadow, of_frame)


def _give(shadow: Shadow, source: Shadow) -> None:
    """The instruction in progress gives the variables of ``source`` as a mapping."""
    settle = shadow.pending

    def give(s: Shadow, depth: int) -> None:
        if settle is not None:
            settle(s, depth)
        hand_over(source, s.places.at(s.base + depth - 1))

    shadow.pending = give


def run(parent: Optional[Shadow], flight: Optional[Flight], namespace: Any) -> None:
    """A frame of code made from text begins with ``namespace`` as its variables: those of ``parent`` perhaps."""
    if parent is not None and flight is not None and flight.variables is parent:
        hand_over(parent, namespace)


def hand_over(shadow: Shadow, mapping: Any) -> None:
    """``mapping`` holds the variables of ``shadow``."""
    heap: Heap = shadow.machine.heap
    for index, name in enumerate(shadow.program.slots):
        mark = mark_of_slot(shadow, index)
        if mark is not None or heap:
            heap.put(mapping, item(name), mark)


def _union(shadow: Shadow) -> Optional[Mark]:
    return join(*[mark_of_slot(shadow, index) for index in range(len(shadow.program.slots))])
