"""What the instructions share: the table of their steps, and operators as calls. May import calls and natives.

`TABLE` maps opcode names to functions of a `Shadow` and the instruction's argument, called before the instruction runs.
"""

import sys
from typing import Any, Callable, Dict, List, Optional

from healguard_core.execution.guard.kinds import identity
from healguard_core.execution.tracking import natives
from healguard_core.execution.tracking.calls import UNKNOWN, fit, launch, settle_effect
from healguard_core.execution.tracking.flights import ATOMS
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives import NativeCall
from healguard_core.execution.tracking.program import following
from healguard_core.execution.tracking.shadow import Flight, Shadow

_ATOMS = ATOMS.numbers
Step = Callable[[Shadow, int], None]
V312, V313, V314 = (sys.version_info >= (3, minor) for minor in (12, 13, 14))
TABLE: Dict[str, Step] = {}


def opcode(*names: str) -> Callable[[Step], Step]:
    """The decorated function is the step of these instructions."""

    def register(step: Step) -> Step:
        for name in names:
            TABLE[name] = step
        return step

    return register


def quiet(s: Shadow) -> bool:
    """Whether no location is marked and no heal runs: then only marks on the stack count."""
    return not s.machine.heap and s.thread.ambient is None


def operate(s: Shadow, function: Any, count: int) -> None:
    """The ``count`` topmost entries are taken, and ``function`` of them is pushed."""
    stack = s.stack
    marks = stack[-count:]
    marked = any(marks)
    if not marked and quiet(s):
        del stack[-count:]
        stack.append(None)
        return
    values = s.places.several(s.base + len(stack) - count, count)
    del stack[-count:]
    for value in values:
        if identity(type(value)) not in _ATOMS:
            break
    else:
        stack.append(s.step(join(*marks)) if marked else None)
        return
    stack.append(None)
    launch_operator(s, function, values, marks)


def launch_operator(
    s: Shadow, function: Any, values: List[Any], marks: List[Optional[Mark]], effect: bool = False
) -> None:
    call = NativeCall(s.machine.heap, function, tuple(values), tuple(marks), ambient=s.thread.ambient)
    s.flight = Flight(list(zip(values, marks)))
    launch(s, natives.summary_of(function) or UNKNOWN, call)
    if effect:
        s.pending = settle_effect


def effect(s: Shadow, function: Any, values: List[Any], marks: List[Optional[Mark]]) -> None:
    launch_operator(s, function, values, marks, True)


def computed(s: Shadow, depth: int) -> None:
    """A getter in Python may have computed the attribute."""
    found = join(*[mark for _, mark in s.returned])
    if found is not None and depth > 0:
        fit(s.stack, depth)
        s.stack[depth - 1] = join(s.stack[depth - 1], found)


def over(_s: Shadow, _depth: int) -> None:
    """Nothing is left of it on the stack."""


def tested(s: Shadow, mark: Optional[Mark]) -> None:
    if mark is not None and mark.condition is not None and s.thread.ambient is None:
        name = s.program.names[s.at]
        if name in ("UNARY_NOT", "TO_BOOL"):
            name = following(s.program, s.at)[0]
            if name == "UNARY_NOT":
                name = following(s.program, following(s.program, s.at)[1])[0]
        if "JUMP" in name:
            s.machine.sinks.tested(s, mark)


def unknown(s: Shadow, _arg: int) -> None:
    """An instruction that this version does not know: everything on the stack afterwards may depend on everything."""
    mark = join(*s.stack)
    if mark is None:
        return

    def settle(s: Shadow, depth: int) -> None:
        s.stack[:] = [mark.coarse()] * max(depth, 0)

    s.pending = settle


def step_of(name: str) -> Step:
    """What an instruction does; an unknown one spreads everything it may have taken."""
    return TABLE.get(name, unknown)
