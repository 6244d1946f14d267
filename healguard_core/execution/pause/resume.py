"""Sending a paused frame back to the start of the statement that failed. May import flow, slots, hooks and sites.

A frame can only be moved from a trace function, so one is armed for the moment between the hook's answer and the next
instruction of the frame, and whatever traced before (coverage, a debugger) is put back right after the jump.
"""

import dis
import sys
import warnings
from types import CodeType, FrameType
from typing import Any, Callable, List, NamedTuple, Optional, Tuple, Union

from healguard_core.execution import hooks
from healguard_core.execution.instrument.sites import Site
from healguard_core.execution.pause import flow as flows
from healguard_core.execution.pause import slots

_TABLES = sys.version_info >= (3, 11)
_FILLS = sys.version_info >= (3, 12)  # a jump binds unbound locals to None
_gettrace, _settrace, _getframe = sys.gettrace, sys.settrace, sys._getframe


class _Plan(NamedTuple):
    """The jumps that lead to ``place``, from the handler or (``waits``) from the next line event after it."""

    lines: Tuple[int, ...]
    waits: bool
    place: int


def can_retry(code: CodeType, site: Site) -> Tuple[bool, str]:
    """Whether a frame of ``code`` paused at ``site`` can start its statement again, and why not."""
    if not site.can_retry:
        return False, site.retry_reason
    flow = flows.flow_of(code)
    handlers = _handlers(flow, site.number)
    if not handlers:
        return False, "{}:{} has no handler in this code".format(code.co_filename, site.line)
    if len(handlers) > 1:
        return False, "it stands in a finally block, of which the compiler made several copies"
    if not _TABLES:
        return True, ""
    found = flows.stacks(flow)
    plan = _plan(flow, found, handlers[0], site.retry_line)
    return (False, plan) if isinstance(plan, str) else (True, "")


def retry(frame: FrameType, line: int) -> None:
    """Let ``frame`` go on with the first instruction of ``line``, the site's ``retry_line``.

    Called while the hook runs in a handler of ``frame``; the jump happens once the hook has answered. Raises
    ``ValueError`` where `can_retry` says no.
    """
    plan: Union[_Plan, str] = _Plan((line,), False, 0)
    if _TABLES:
        flow = flows.flow_of(frame.f_code)
        plan = _plan(flow, flows.stacks(flow), frame.f_lasti, line)
    if isinstance(plan, str):
        raise ValueError("{}:{} cannot be tried again: {}".format(frame.f_code.co_filename, line, plan))
    _Jump(frame, plan).arm()


# --------------------------------------------------------------------------- choosing the jumps (3.11+)


def _handlers(flow: flows.Flow, number: int) -> List[int]:
    """Where ``@heal(number)`` is called: once, or in each copy of a ``finally`` block."""
    found = []
    for offset, instruction in flow.instructions.items():
        if instruction.argval == hooks.HEAL and instruction.opname.startswith("LOAD_"):
            following = flow.following[offset]
            while flow.instructions[following].opname == "PUSH_NULL":
                following = flow.following[following]
            if flow.instructions[following].argval == number:
                found.append(offset)
    return found


def _plan(flow: flows.Flow, found: Any, offset: int, line: int) -> Union[_Plan, str]:
    """How to get from the handler around ``offset`` to the statement that it guards, or why that is impossible."""
    healed = next((start for start, at in flow.starts if at == 0 and start > offset), None)
    target = max((entry.target for entry in flow.table if entry.target <= offset), default=None)
    begin = _begin(flow, target)
    if healed is None or target is None or begin is None or healed not in found:
        return "its handler is not in the code"
    stack = found[healed]
    bare = found[target][:-1]  # as at the statement, before the exception was pushed
    places = _beginnings(flow, begin)
    direct = flows.landing(flow, found, stack, line)
    if direct in places:
        return _Plan((line,), False, direct)
    # The interpreter would take a later part of the statement. From a stack without the handled exception it does not.
    second = flows.landing(flow, found, bare, line)
    if second not in places:
        return "its first line does not begin with it"
    for _, between in sorted(flow.starts, key=lambda start: abs(start[0] - begin)):
        stop = flows.landing(flow, found, stack, between) if between else None
        if stop is not None and found[stop] == bare:
            return _Plan((between, line), False, second)
    if bare and bare[-1] == flows.EXCEPT:
        return "the interpreter has no way back to it from inside an except or finally block"
    return _Plan((line,), True, second)


def _begin(flow: flows.Flow, target: Optional[int]) -> Optional[int]:
    """Where the part of the code begins whose errors come to the handler at ``target``, through inner ones or not."""
    inside = {target}
    while True:
        more = {
            entry.target for entry in flow.table
            if entry.target not in inside and flows.handler_of(flow, entry.target) in inside
        }
        if not more:
            return min((entry.start for entry in flow.table if entry.target in inside), default=None)
        inside |= more


def _beginnings(flow: flows.Flow, begin: int) -> List[int]:
    """The offsets from which execution comes to ``begin`` without doing anything."""
    places = [begin]
    before = {after: offset for offset, after in flow.following.items()}
    while before.get(places[-1]) is not None and flow.instructions[before[places[-1]]].opname == "NOP":
        places.append(before[places[-1]])
    return places


# --------------------------------------------------------------------------- the jump


class _Jump:
    """A trace function for one event: moves ``frame``, then puts the previous tracer back."""

    def __init__(self, frame: FrameType, plan: _Plan) -> None:
        self._frame = frame
        self._plan = plan
        self._skip = plan.waits
        self._popped = _TABLES
        self._tracer: Any = _gettrace()
        self._local: Any = frame.f_trace
        self._switches = frame.f_trace_lines, frame.f_trace_opcodes

    def arm(self) -> None:
        """Start tracing. Frames of ours that have yet to return keep reporting to coverage's tracer."""
        if type(self._tracer).__module__ == "coverage.tracer":
            inner: Optional[FrameType] = _getframe(1)
            while inner is not None and inner is not self._frame:
                if inner.f_trace is None:
                    inner.f_trace = _Returns(self._tracer)
                inner = inner.f_back
        frame = self._frame
        frame.f_trace_lines = True
        frame.f_trace_opcodes = not _TABLES
        frame.f_trace = self
        _settrace(self)

    def __call__(self, frame: FrameType, event: str, _arg: Any) -> Optional["_Jump"]:
        if frame is not self._frame:
            return None
        if event not in ("line", "opcode"):
            self._fail("it ended first ({})".format(event))
        if not self._popped:  # before 3.11 a jump does not end the handling of the exception
            self._popped = event == "opcode" and _operation(frame) == "POP_EXCEPT"
            return self
        if sys.version_info < (3, 9) and _operation(frame).startswith("JUMP_"):
            return self  # still inside the handler as 3.8 sees it
        if self._skip:
            self._skip = False
            return self
        try:
            _move(frame, self._plan)
        except ValueError as refusal:
            self._fail(str(refusal))
        self._disarm()
        return None

    def _disarm(self) -> None:
        frame = self._frame
        frame.f_trace_lines, frame.f_trace_opcodes = self._switches
        frame.f_trace = self._local
        _settrace(self._tracer)

    def _fail(self, why: str) -> None:
        """Going on silently with the next statement would be another heal than the one that was submitted."""
        self._disarm()
        code = self._frame.f_code
        raise RuntimeError(
            "{}:{} could not be tried again in {}: {}. Use `resume: next`".format(
                code.co_filename, self._plan.lines[-1], code.co_name, why)
        )


class _Returns:
    """Passes the end of a frame on to a C tracer that counts calls and returns."""

    def __init__(self, tracer: Callable[..., Any]) -> None:
        self._tracer = tracer

    def __call__(self, frame: FrameType, event: str, arg: Any) -> "_Returns":
        if event == "return":
            self._tracer(frame, event, arg)
        return self


def _operation(frame: FrameType) -> str:
    return dis.opname[frame.f_code.co_code[frame.f_lasti]]


def _set_line(frame: Any, line: int) -> None:
    frame.f_lineno = line


def _move(frame: FrameType, plan: _Plan) -> None:
    """Set the frame's line. Unbound locals stay unbound, although the interpreter would bind them to None."""
    if not _FILLS:
        for line in plan.lines:
            _set_line(frame, line)
        return
    if not slots.available():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            for line in plan.lines:
                _set_line(frame, line)
        return
    unbound = slots.unbound_names(frame)
    for name in unbound:
        slots.fill(frame, name)
    try:
        for line in plan.lines:
            _set_line(frame, line)
    finally:
        for name in unbound:
            if not flows.reads_unchecked(frame.f_code, name, plan.place):
                slots.unbind(frame, name)
        _ = frame.f_locals  # up to 3.12 the interpreter copies this mirror back after the trace function: refresh it
