"""What is followed beside one frame: marks of its slots and of its value stack, and the instruction in progress.

May import frames, heap, labels, program. `Shadow.event` is the local trace function of its frame.
"""

from types import CodeType, FrameType
from typing import Any, Callable, Dict, List, Optional, Tuple

from healguard_core.execution.guard.kinds import identity
from healguard_core.execution.tracking.frames import Places
from healguard_core.execution.tracking.labels import Mark, coarse, join
from healguard_core.execution.tracking.program import Program, program_of


class Flight:
    """An instruction that may run other code, with everything that is in flight.

    ``pairs`` are values with their marks. ``codes`` are the Python functions that the interpreter itself may call for
    it, each with what fills its parameters. ``returned`` are what Python code gave back meanwhile, with marks.
    """

    __slots__ = ("call", "checked", "codes", "pairs", "union", "variables", "widened")

    def __init__(self, pairs: List[Tuple[Any, Optional[Mark]]]) -> None:
        self.pairs = pairs
        self.codes: Dict[int, Any] = {}
        self.call: Any = None
        self.checked: Any = None  # the policy's entry of a call that was looked at already
        self.union: Any = None  # computed when first asked for
        self.variables: Optional["Shadow"] = None  # of the frame whose variables code made from text will see
        self.widened = False


class Shadow:
    """The marks of one frame. It holds neither the frame nor values of the program."""

    __slots__ = (
        "at", "back", "base", "chained", "changes", "code", "flight", "frame_id", "globals", "keywords", "leaving",
        "locals", "machine", "made", "pending", "places", "program", "returned", "sent", "stack", "steps", "thread",
    )

    def __init__(self, machine: Any, thread: Any, frame: FrameType, steps: List[Any], program: Program) -> None:
        self.machine = machine
        self.thread = thread
        self.program = program
        self.code: CodeType = frame.f_code
        self.steps = steps
        self.frame_id = identity(frame)
        self.back = 0 if frame.f_back is None else identity(frame.f_back)
        self.globals = frame.f_globals
        self.places = Places(frame)
        self.base = len(program.slots)
        self.locals: List[Optional[Mark]] = [None] * self.base
        self.stack: List[Optional[Mark]] = []
        self.at = max(frame.f_lasti, 0) >> 1
        self.pending: Optional[Callable[["Shadow", int], None]] = None
        self.flight: Optional[Flight] = None
        self.returned: List[Tuple[Any, Optional[Mark]]] = []
        self.keywords: Tuple[str, ...] = ()
        self.leaving: Optional[Mark] = None
        self.sent: Optional[Mark] = None
        self.chained: Any = None
        self.changes = machine.heap.changes  # when the frame began to be followed
        self.made: Any = None  # the generator that the frame belongs to, weakly

    # ----------------------------------------------------------------- values

    def top(self, down: int = 1) -> Any:
        """The value ``down`` entries below the end of the value stack (1: the last). Before the stack changes."""
        return self.places.at(self.base + len(self.stack) - down)

    def place(self) -> Tuple[CodeType, int]:
        """Where the frame stands."""
        return self.code, self.program.lines[self.at]

    def step(self, mark: Optional[Mark]) -> Optional[Mark]:
        """``mark`` after its value was stored or handed on here."""
        return None if mark is None else mark.stepped((self.code, self.program.lines[self.at]))

    def stored(self, mark: Optional[Mark]) -> Optional[Mark]:
        """The mark of what is stored here: with that of the heal that runs."""
        ambient = self.thread.ambient
        if ambient is not None:
            mark = join(mark, ambient)
        return None if mark is None else mark.stepped((self.code, self.program.lines[self.at]))

    # ----------------------------------------------------------------- events

    def opcode(self, frame: FrameType) -> None:
        """The instruction at ``frame``'s place is about to run; the one before it is over."""
        at = frame.f_lasti >> 1
        stack = self.stack
        depth = self.program.depths[at]
        pending = self.pending
        if pending is not None:
            self.pending = None
            pending(self, depth)
            self.flight = None
        elif self.returned:
            self.flight = None
        if self.returned:
            del self.returned[:]
        if len(stack) != depth and depth >= 0:
            if len(stack) > depth:
                del stack[depth:]
            else:
                stack.extend([None] * (depth - len(stack)))
        self.at = at
        step, argument = self.steps[at]
        step(self, argument)

    def failed(self) -> None:
        """The instruction in progress raised."""
        flight, self.flight, self.pending = self.flight, None, None
        del self.returned[:]
        if flight is not None and flight.call is not None:
            summary, call = flight.call
            summary.failed(call)

    def lost(self) -> None:
        """A fault of ours: whatever this instruction gives depends, for all we know, on everything that is marked."""
        mark = coarse(join(self.machine.heap.everything(), *self.stack, *self.locals))
        self.flight = None
        self.pending = None if mark is None else _Everything(mark)

    def arm_midway(self, frame: FrameType) -> None:
        """Take up a frame that waits for something that it called."""
        depth = self.program.depths[max(frame.f_lasti, 0) >> 1]
        self.stack = [None] * max(depth, 0)
        self.pending = midway
        self.changes = -1


class _Everything:
    """Settles an instruction about which nothing is known."""

    __slots__ = ("mark",)

    def __init__(self, mark: Mark) -> None:
        self.mark = mark

    def __call__(self, shadow: Shadow, depth: int) -> None:
        shadow.stack[:] = [self.mark] * max(depth, 0)


def midway(shadow: Shadow, depth: int) -> None:
    """Settle an instruction whose begin was not seen: its result carries what was returned."""
    mark = join(*[mark for _, mark in shadow.returned])
    stack = shadow.stack
    if depth > 0 and mark is not None:
        del stack[depth:]
        stack.extend([None] * (depth - len(stack)))
        stack[depth - 1] = join(stack[depth - 1], mark)


def new_shadow(machine: Any, thread: Any, frame: FrameType) -> Shadow:
    """The shadow of ``frame``."""
    program = program_of(frame.f_code)
    return Shadow(machine, thread, frame, machine.steps_of(program), program)
