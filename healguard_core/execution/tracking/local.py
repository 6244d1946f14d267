"""Local trace functions: what follows one frame. May import errors and shadow.

A veto is raised in the trace function, which makes the interpreter switch tracing off; the last reference to an object
of ours goes with it, and its finaliser switches tracing on again before the program takes its next step.
"""

import sys
from types import FrameType
from typing import Any

from healguard_core.execution.guard.veto import Veto
from healguard_core.execution.tracking import errors
from healguard_core.execution.tracking.shadow import Shadow

_settrace, _getframe = sys.settrace, sys._getframe
EVERY = 256
"""One event in so many is timed for all of them; a power of two."""
_MASK = EVERY - 1


class Passing:
    """The local trace function of a frame that is not followed, where somebody else traces: without instructions."""

    __slots__ = ("_chained",)

    def __init__(self, chained: Any) -> None:
        self._chained = chained

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event != "opcode":
            self._chained = self._chained(frame, event, arg)
        return None if self._chained is None else self


class Local:
    """The local trace function of one frame."""

    __slots__ = ("_machine", "_shadow")

    def __init__(self, machine: Any, shadow: Shadow) -> None:
        self._machine = machine
        self._shadow = shadow

    def follows(self, shadow: Shadow) -> bool:
        """Whether it belongs to ``shadow``."""
        return self._shadow is shadow

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        shadow = self._shadow
        if event == "opcode":
            thread = shadow.thread
            thread.current = shadow
            thread.frame = frame
            try:
                machine = self._machine
                machine.events += 1
                if machine.events & _MASK:
                    shadow.opcode(frame)
                else:
                    machine.timed(shadow, frame)
            except Veto as veto:
                __tracebackhide__ = True
                rearm(self._machine, frame, self)
                raise veto.with_traceback(None) from None
            except Exception as fault:  # a fault of ours must not change the program; it must not go unseen either
                shadow.lost()
                self._machine.fault(fault)
            return self
        chained = shadow.chained
        if chained is not None:
            shadow.chained = chained(frame, event, arg)
        try:
            self._ended(shadow, frame, event, arg)
        except Exception as fault:
            self._machine.broken(fault)
        return self

    def _ended(self, shadow: Shadow, frame: FrameType, event: str, arg: Any) -> None:
        """The instruction in progress raised, or the frame is left."""
        if event == "exception":
            ends = arg[0] is StopIteration and shadow.program.names[shadow.at] in ("SEND", "FOR_ITER")
            if not ends:  # that is how these take the end of what they drive
                errors.raised(shadow, arg[1], arg[2])
                shadow.failed()
        elif event == "return":
            name = shadow.program.names[shadow.at]
            failed = not name.startswith(("RETURN", "YIELD"))
            shadow.thread.frame = None
            self._machine.left(shadow, frame, arg, failed)


class _Rearm:
    """Stands as a frame's trace function for the moment of a veto; when it goes, following begins again."""

    __slots__ = ("_again",)

    def __init__(self, again: Any) -> None:
        self._again = again

    def __call__(self, _frame: FrameType, _event: str, _arg: Any) -> "_Rearm":
        return self

    def __del__(self) -> None:
        self._again()


def rearm(machine: Any, frame: FrameType, local: Local) -> None:
    """A veto is about to be raised at ``frame``: see to it that following goes on."""
    thread = machine.thread()
    thread.vetoing = True

    def again() -> None:
        thread.vetoing = False
        _getframe(0).f_trace_opcodes = True
        frame.f_trace = local
        frame.f_trace_opcodes = True
        _settrace(thread.called)

    frame.f_trace = _Rearm(again)
