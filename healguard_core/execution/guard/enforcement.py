"""Stops protected operations before their effect while a heal or a probe runs. Composes the parts of this package.

Three walls, each for what the others cannot see: checks in the healing code itself on the live callee, an audit hook,
and protected Python functions whose code is exchanged for the time. `Guard` belongs to a run, a `Watch` to one run of
healing code. What tracking needs of a heal is in `Watch.writes`.
"""

import ast
import gc
import threading
from types import CodeType, FrameType, FunctionType
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from healguard_core.execution.guard import extent as extents
from healguard_core.execution.guard import rewriting
from healguard_core.execution.guard.arrivals import Arrivals
from healguard_core.execution.guard.audit import judge_event
from healguard_core.execution.guard.callables import MISSING
from healguard_core.execution.guard.checks import Checks, protected
from healguard_core.execution.guard.conditions import Conditions
from healguard_core.execution.guard.delta import Delta, Write
from healguard_core.execution.guard.extent import Extent
from healguard_core.execution.guard.policy import Policy
from healguard_core.execution.guard.silent import Watcher
from healguard_core.execution.guard.swaps import Swaps
from healguard_core.execution.guard.veto import Stop, Veto

_gc_enabled, _gc_enable, _gc_disable = gc.isenabled, gc.enable, gc.disable


class Guard:
    """Protects what one policy names (None: nothing but the interpreter and the system) while heals run."""

    def __init__(self, declared: Optional[Dict[str, Any]], told: Callable[[str], None]) -> None:
        self.policy = Policy(declared or {})
        self._told = told
        self._reported = 0
        self._lock = threading.RLock()
        self._holders = 0
        self._owed = 0
        self._swaps = Swaps(self._judge_function)
        self._swaps.add((threading.Thread.start,))  # type: ignore[arg-type]
        self._watcher = Watcher(self._judge_silent)
        self._silent = False
        self.arrivals = Arrivals(lambda _module: self.look())

    # ----------------------------------------------------------------- lifecycle

    def start(self) -> None:
        """Wait for the modules that the policy names. The audit hook comes with the first heal: until then, nothing
        is paid for it.
        """
        self.look()
        self.arrivals.wait_for(entry.target for entry in self.policy.pending)

    def look(self) -> None:
        """Resolve what has been imported by now, and say what names nothing."""
        with self._lock:
            for operation in self.policy.resolve():
                self._swaps.add(operation.functions)
                self._silent = self._silent or operation.silent
            for problem in self.policy.problems[self._reported:]:
                self._told(problem)
            self._reported = len(self.policy.problems)

    def extended(self, entries: Iterable[Dict[str, Any]]) -> "Guard":
        """A guard that protects more, for one test; entries as in the policy's plain JSON. Raises ``ValueError``."""
        made = Guard(None, self._told)
        made.policy = self.policy.extended(entries)
        new = made.policy.problems[len(self.policy.problems):]
        if new:
            raise ValueError("; ".join(new))
        for operation in made.policy.operations:
            made._swaps.add(operation.functions)
            made._silent = made._silent or operation.silent
        return made

    def unusable(self) -> str:
        """Why no heal may run under this policy, "" when one may."""
        if not self.policy.problems:
            return ""
        return "the policy is wrong, so nothing can be healed safely: " + "; ".join(self.policy.problems)

    # ----------------------------------------------------------------- one run of healing code

    def watch(self, label: str) -> "Watch":
        """Guard one run of healing code that is compiled under the file name ``label``."""
        extents.install()
        self.look()
        return Watch(self, label)

    def hold(self) -> None:
        """A heal begins."""
        with self._lock:
            self._holders += 1
            self._swaps.hold()
            if self._holders == 1 and self._silent:
                self._watcher.start()

    def release(self) -> None:
        """A heal has ended; threads that it left behind stay guarded until they end, see `tidy`."""
        with self._lock:
            self._owed += 1
            self.tidy()

    def tidy(self) -> None:
        """Stop guarding when every heal, and every thread that one started, has ended."""
        with self._lock:
            if not self._owed or extents.prune():
                return
            for _ in range(self._owed):
                self._holders -= 1
                if self._holders == 0:
                    self._watcher.stop()
                self._swaps.release()
            self._owed = 0

    def judge_event(self, extent: Extent, event: str, args: Tuple[Any, ...], frame: FrameType) -> Optional[Stop]:
        """What to stop about an audit event in the extent of a heal."""
        return judge_event(self.policy, extent, event, args, frame)

    def _judge_function(self, function: FunctionType, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Optional[Veto]:
        extent = extents.current()
        if extent is None:
            return None
        if function is threading.Thread.start:
            if args and isinstance(args[0], threading.Thread):
                extents.adopt(args[0])
            return None
        for operation in self.policy.operations:
            if function in operation.functions and operation.applies_to(args[0] if args else MISSING):
                veto: Veto = extent.veto(protected(operation, operation.key_of(args, kwargs)))
                return veto
        return None

    def _judge_silent(self, callee: Any, first: Any) -> Optional[Veto]:
        extent = extents.current()
        if extent is None or type(callee) is FunctionType or extents.shows_a_veto(extent):
            return None
        for value in (callee, first):
            operation = self.policy.match(value) if value is not None else None
            if operation is not None and operation.silent:
                extent.unprofiled = not self._watcher.survives
                veto: Veto = extent.veto(protected(operation, {}))
                return veto
        return None


class Watch:
    """Guards one run of healing code; a context manager around it.

    ``stops`` are what was stopped. ``writes`` are the locations that the heal wrote beside names, with their objects,
    and ``wrote`` the same in words, both complete after `settle`.
    """

    def __init__(self, guard: Guard, label: str) -> None:
        self._guard = guard
        self._extent = Extent(label, guard.judge_event)
        self._delta = Delta()
        self._conditions = Conditions(guard.policy.conditions)
        self._mark = ""
        self._checks: Optional[Checks] = None
        self._leave: Callable[[], None] = _nothing
        self._collects = False
        self.wrote: List[str] = []

    @property
    def stops(self) -> List[Stop]:
        return self._extent.stops

    @property
    def writes(self) -> List[Write]:
        return self._delta.writes

    def late(self, told: Callable[[Stop], None]) -> None:
        """Tell ``told`` of what is stopped in threads after the run."""
        self._extent.late = told

    # ----------------------------------------------------------------- the code

    def rewrite(self, body: List[ast.stmt], source: str) -> List[ast.stmt]:
        """The statements with checks in them; they have to be given to `seal` once compiled."""
        made = rewriting.rewrite(body, source)
        self._mark = made.mark
        guard = self._guard
        self._checks = Checks(
            made.places, guard.policy, self._extent, self._delta, self._conditions, guard.look
        )
        return made.body

    def seal(self, code: CodeType) -> CodeType:
        """The code compiled from what `rewrite` gave, with the checks put in."""
        return rewriting.seal(code, self._mark, self._checks)

    # ----------------------------------------------------------------- the run

    def __enter__(self) -> "Watch":
        self._collects = _gc_enabled()
        _gc_disable()  # finalisers of the program's garbage are none of the heal's business
        self._conditions.begin()
        self._guard.hold()
        self._leave = extents.enter(self._extent)
        return self

    def __exit__(self, *_exc: Any) -> None:
        self._leave()
        self._guard.release()
        if self._collects:
            _gc_enable()

    def settle(self, scope: Dict[str, Any], names: Iterable[str]) -> None:
        """The run is over, its bindings are undone: look at what it left. It bound ``names`` in module ``scope``."""
        bound = self._conditions.written_name(scope, names)
        changed = [bound] if bound is not None else []
        changed.extend(self._conditions.restore())
        for condition in changed:
            if not any(stop.rule == "HG302" and stop.policy_id == condition.entry.id for stop in self.stops):
                stop = Stop("HG302", condition.entry.target, condition.entry.id, where=self._extent.label,
                            path=[self._extent.label])
                self._extent.stops.append(stop)
        self.wrote = self._delta.settle()


def _nothing() -> None:
    """Nothing to leave yet."""
