"""Whether anything marked can still be used. May import program and shadow.

A variable that no instruction ahead loads is as good as gone. Where a frame's variables may be looked at from outside
of its own instructions (`locals`, `eval`), all of them count.
"""

from functools import lru_cache
from types import CodeType
from typing import Any, FrozenSet, Iterable

from healguard_core.execution.pause import flow as flows
from healguard_core.execution.pause.layout import covering
from healguard_core.execution.tracking.program import looks_at_variables
from healguard_core.execution.tracking.shadow import Shadow

_PAIRS = ("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")


@lru_cache(maxsize=5000)
def loaded_later(code: CodeType, at: int) -> FrozenSet[int]:
    """The places of the variables that ``code`` may load from its instruction ``at`` (an offset halved) on."""
    return frozenset(_loads(code, at))


def _loads(code: CodeType, at: int) -> Iterable[int]:
    if looks_at_variables(code):
        yield from range(len(code.co_varnames))
        return
    flow = flows.flow_of(code)
    here = max((offset for offset in flow.instructions if offset <= at * 2), default=0)
    todo, seen = [here], set()
    around = covering(flow.table, here)
    if around is not None:
        todo.append(around.start)  # a heal may have the statement, which that surrounds, run again
    while todo:
        offset = todo.pop()
        if offset in seen:
            continue
        seen.add(offset)
        instruction = flow.instructions[offset]
        name, arg = instruction.opname, instruction.arg or 0
        if name in _PAIRS:
            yield from (arg >> 4, arg & 15)
        elif name == "STORE_FAST_LOAD_FAST":
            yield arg & 15
        elif name.startswith("LOAD_FAST"):
            yield arg
        todo.extend(there for there, _ in flows.successors(flow, offset))
        handler = flows.handler_of(flow, offset)
        if handler is not None:
            todo.append(handler)


def is_used(shadow: Shadow) -> bool:
    """Whether the frame of ``shadow`` holds anything marked that it can still use."""
    if any(shadow.stack) or shadow.leaving is not None or shadow.sent is not None:
        return True
    flight = shadow.flight
    if flight is not None and (any(mark for _, mark in flight.pairs) or _asked(flight.call)):
        return True
    if any(mark for _, mark in shadow.returned):
        return True
    if not any(shadow.locals):
        return False
    later = loaded_later(shadow.code, shadow.at)
    return any(mark is not None and place in later for place, mark in enumerate(shadow.locals))


def _asked(call: Any) -> bool:
    return call is not None and (any(call[1].marks) or call[1].receiver_mark is not None)
