"""Follows what heals wrote for as long as a test runs. May import everything else in tracking.

`Tracker` belongs to a test. Nothing is installed before the first heal, and `finish` puts everything back.
"""

import contextlib
import sys
from types import CellType, CodeType, FrameType
from typing import Any, Callable, Dict, Iterator, List, Optional, Set

from healguard_core.execution.guard.policy import Policy
from healguard_core.execution.guard.veto import Stop, Veto
from healguard_core.execution.pause.frame import Ran
from healguard_core.execution.pause.slots import real_cells
from healguard_core.execution.tracking import variables
from healguard_core.execution.tracking.frames import readable
from healguard_core.execution.tracking.heap import Heap, item
from healguard_core.execution.tracking.labels import Mark, join, of_heal
from healguard_core.execution.tracking.literal import LiteralRule
from healguard_core.execution.tracking.opcodes import RAISED
from healguard_core.execution.tracking.shadow import Shadow
from healguard_core.execution.tracking.sinks import Sinks, spelled
from healguard_core.execution.tracking.static.check import Verdict, judge
from healguard_core.execution.tracking.tracer import Machine

_gettrace, _settrace = sys.gettrace, sys.settrace

MODES = ("track", "literal", "off")

Told = Callable[[Stop, List[int]], None]
"""Told of each stop, with the numbers of the heals that led to it, before the veto is raised."""


class Healing:
    """One run of healing code, as tracking sees it. ``marks``: of the names that it bound, once it is over."""

    def __init__(self, number: int, label: str, frame: FrameType, paused: Optional[Shadow]) -> None:
        self.number = number
        self._cells = list(real_cells(frame).values())  # variables that the frame shares with others
        self.marks: Dict[str, Optional[Mark]] = {}
        self._label = label
        self._paused = paused

    def runs(self, code: CodeType) -> bool:
        """Whether ``code`` is that of the healing code itself, not of what it calls."""
        return code.co_filename == self._label and code.co_name in ("<heal>", "<module>")

    def entered(self, shadow: Shadow) -> None:
        """The healing code begins: its variables are those of the paused frame."""
        paused = self._paused
        if paused is None:
            return
        for name, index in shadow.program.numbers.items():
            if name in shadow.code.co_freevars and name in paused.program.numbers:
                variables.put_free(shadow, index, variables.mark_of_slot(paused, paused.program.numbers[name]))

    def written(self) -> Set[str]:
        """The names that it bound, also those that it bound to what they were bound to before."""
        return {name for name, mark in self.marks.items() if mark is not None and mark.heals >> self.number & 1}

    def left(self, shadow: Shadow) -> None:
        """The healing code ends: remember what its variables carry, and forget those that are its own."""
        for name, index in shadow.program.numbers.items():
            self.marks[name] = variables.mark_of_slot(shadow, index)
            cell = shadow.places.at(index)
            if type(cell) is CellType and not any(cell is kept for kept in self._cells):
                shadow.machine.heap.clear(cell)


class _Around:
    """The time in which healing code runs: whatever is stored then, in its thread, is the heal's."""

    def __init__(self, machine: Machine, healing: Optional[Healing]) -> None:
        self._machine = machine
        self._healing = healing

    def __enter__(self) -> Optional[Healing]:
        if self._healing is not None:
            thread = self._machine.thread()
            self._before = thread.ambient, thread.healing, thread.current
            thread.healing, thread.current = self._healing, None
            self._machine.start()
            thread.heals(of_heal(self._healing.number))
        return self._healing

    def __exit__(self, *_exc: Any) -> None:
        if self._healing is not None:
            thread = self._machine.thread()
            ambient, thread.healing, thread.current = self._before
            thread.heals(ambient)


class Tracker:
    """Follows values from heals to protected operations. ``findings`` are the stops so far."""

    def __init__(
        self,
        policy: Policy,
        mode: str,
        told: Told,
        fault: Callable[[Exception], None],
        budget: float = 10.0,
        noticed: Callable[[str], None] = print,
    ) -> None:
        self.findings: List[Stop] = []
        self.mode = mode
        if mode == "track" and not readable():
            self.mode = "literal"
            noticed("this interpreter does not let values be followed; heal_guard_mode is `literal` instead")
        self._noticed = noticed
        self._budget = budget
        self._latest = 0
        self._healed = False
        self._told = told
        self._heap = Heap()
        self._sinks = Sinks(policy, self._heap, self._found, noticed)
        self._machine = Machine(self._heap, self._sinks, spared, fault)
        self._machine.used_up = self._used_up
        self._machine.tampered = self._tampered
        self._machine.displaced = self._displaced
        self._machine.lost = self._lost
        self._literal = LiteralRule(self._sinks, lambda stop: self._stopped(stop, [self._latest]))

    @property
    def marked(self) -> bool:
        """Whether any object, global or captured variable is known to hold something that a heal wrote, beside the
        healing code's own variables.
        """
        return any(not self._is_variable_of_heal(owner) for owner in self._heap.owners())

    def _is_variable_of_heal(self, owner: Any) -> bool:
        places = [mark.places() for mark in self._heap.slots(owner).values()]
        return type(owner) is CellType and all(one and one[-1][0].co_name == "<heal>" for one in places)

    def heal(self, number: int, label: str, frame: FrameType) -> "_Around":
        """Around one run of the healing code of heal ``number``, compiled under ``label``, for the paused ``frame``."""
        self._sinks.look()
        self._latest = number
        if self.mode != "track":
            self._literal.stop()
            return _Around(self._machine, None)
        self._machine.allow(self._budget)
        return _Around(self._machine, Healing(number, label, frame, self._machine.shadow_of(frame)))

    def settle(self, healing: Optional[Healing], frame: FrameType, ran: Ran, returns: bool) -> None:
        """What ``healing`` bound was written back to ``frame``, which will return or raise what ``ran`` says."""
        self._healed = True
        if healing is None:
            return
        raised, names = ran.raise_exc, set(ran.bindings) | set(ran.deleted) | healing.written()
        machine = self._machine
        shadow = machine.arm(frame)
        for name in names:
            mark = join(of_heal(healing.number, (frame.f_code, frame.f_lineno or 0)), healing.marks.get(name))
            index = None if shadow is None else shadow.program.numbers.get(name)
            if shadow is not None and index is not None:
                variables.put_slot(shadow, index, mark)
            elif not frame.f_code.co_flags & 1:
                self._heap.put(frame.f_locals, item(name), mark)
            else:
                self._heap.put(frame.f_globals, item(name), mark)
        mark = join(of_heal(healing.number, (frame.f_code, frame.f_lineno or 0)), healing.marks.get("_eh_rtn"))
        if returns:
            machine.thread().leaving = mark
        if raised is not None:
            self._heap.add(raised, RAISED, mark)

    def ahead(self, policy: Policy, frame: FrameType, bound: Dict[str, Any], way: str, elsewhere: bool) -> Verdict:
        """What must become of a heal when the program goes on; see `static.check.judge` for the arguments."""
        with self.resting():
            return judge(policy, frame, bound, way, elsewhere or self.marked, spared)

    def go_on(self, frame: FrameType) -> None:
        """The program is about to be resumed in ``frame``: follow it and its callers."""
        if self.mode == "literal" and self._healed:
            self._literal.start()
        if self.mode != "track" or not self._machine.on:
            return
        if self._machine.is_used_up():
            self.finish()
            return
        at: Optional[FrameType] = frame
        while at is not None:
            self._machine.arm(at)
            at = at.f_back
        thread = self._machine.thread()
        thread.current = self._machine.shadow_of(frame)
        self._machine.trace_here(thread)

    def finish(self) -> None:
        """The test is over: follow nothing more, and put back what traced before."""
        self._literal.stop()
        if self._machine.on:
            self._machine.stop()

    @contextlib.contextmanager
    def resting(self) -> Iterator[None]:
        """Around what the test runner does for itself in this thread: it is not the program's, and is not followed."""
        thread = self._machine.thread() if self._machine.on else None
        if thread is None or not thread.traced or _gettrace() != thread.called:
            yield
            return
        _settrace(thread.previous)
        try:
            yield
        finally:
            if self._machine.on:
                self._machine.trace_here(thread)

    def _found(self, stop: Stop, mark: Mark) -> None:
        self._stopped(stop, mark.numbers())

    def _stopped(self, stop: Stop, heals: List[int]) -> None:
        self.findings.append(stop)
        self._told(stop, heals)

    def _tampered(self, frame: FrameType, mark: Mark) -> Veto:
        """What a heal wrote decides about the trace function of the program."""
        where = "{}:{}".format(frame.f_code.co_filename, frame.f_lineno)
        stop = Stop("HG310", "sys.settrace", where=where, path=[spelled(one) for one in mark.places()] + [where],
                    exact=mark.exact)
        self._stopped(stop, mark.numbers())
        return Veto(stop.message)

    def _displaced(self, frame: FrameType) -> None:
        """Somebody takes the place of what follows: from now on the literal rule holds."""
        where = "{}:{}".format(frame.f_code.co_filename, frame.f_lineno)
        self._go_literal("another trace function took over at " + where)
        self._noticed(
            "another trace function took the place of the one that follows healed values, at {}; from here on the "
            "literal rule holds in this test. Set it by sys.settrace, looked up when it is called".format(where))

    def _lost(self) -> None:
        """A fault of ours: from now on the literal rule holds, which needs no following."""
        self._go_literal("following failed, see the notice `internal`")

    def _used_up(self) -> None:
        """The time for following is over: from now on the literal rule holds."""
        self._go_literal("budget: the {:g} seconds for following values were used up".format(self._budget))
        self._noticed(
            "following what heal {} wrote took {:g} seconds of processor time, its whole budget; from here on the "
            "literal rule holds. Raise heal_guard_budget to follow for longer".format(self._latest, self._budget))

    def _go_literal(self, why: str) -> None:
        self.mode = "literal"
        self._machine.stop()
        self._literal.note = why
        self._literal.start()


_RUNNERS = (
    "pytest", "_pytest", "pluggy", "pytest_heal", "_hypothesis_pytestplugin", "xdist", "execnet", "coverage",
    "pytest_cov", "pytest_asyncio", "pytest_timeout", "pytest_rerunfailures", "_pydevd_bundle", "pydevd",
)
_UNITTEST = ("case", "suite", "runner", "main", "loader", "result")


def _folders() -> List[str]:
    found = []
    for name in _RUNNERS:
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if file:
            found.append(file[: -len("__init__.py")] if file.endswith("__init__.py") else file)
    unittest = getattr(sys.modules.get("unittest"), "__file__", None)
    if unittest:
        found.extend(unittest[: -len("__init__.py")] + name + ".py" for name in _UNITTEST)
    return found


def spared(code: CodeType) -> bool:
    """Whether frames of ``code`` are the test runner's or the import system's, which are never followed."""
    name = code.co_filename
    return name.startswith(("<frozen importlib", *_folders()))
