"""Composition root of the execution side: what happens from a raised error to a resumed program.

May import everything else in ``execution``; nothing in ``execution`` but ``run`` imports this.
"""

import contextlib
import dataclasses
import os
import platform
import sys
import tempfile
import threading
import traceback
from types import FrameType
from typing import TYPE_CHECKING, Any, Callable, ContextManager, Dict, List, Optional, Sequence, Tuple, Type

from healguard_core import __version__
from healguard_core.execution import hooks
from healguard_core.execution.asking import Agent, ask
from healguard_core.execution.attempt import Attempt, chain, identity
from healguard_core.execution.guard.enforcement import Guard
from healguard_core.execution.guard.veto import Stop
from healguard_core.execution.instrument.importer import Importer
from healguard_core.execution.instrument.scope import Scope
from healguard_core.execution.instrument.sites import Site
from healguard_core.execution.journal import Journal
from healguard_core.execution.pause import callers, context
from healguard_core.execution.pause import resume as resuming
from healguard_core.execution.pause.handled import Decider, Decision, thrown_in
from healguard_core.execution.pause.quiet import head_room
from healguard_core.execution.pause.redaction import Redactor, secrets_among
from healguard_core.execution.pause.stack import StackFrame, repository_frames, source_segment
from healguard_core.execution.pause.trial import Trial
from healguard_core.execution.runbook import Runbook
from healguard_core.execution.session import RESUMES, Plan, Resolution, Session
from healguard_core.execution.units import current_unit, set_unit
from healguard_core.protocol import Blocked, Config, CrashContext, Crashed, Left, Noticed, Started, Stopped

if TYPE_CHECKING:
    from healguard_core.execution.tracking.tracker import Tracker

CO_GENERATOR_KINDS = 0x20 | 0x80 | 0x200  # generator, coroutine, async generator

_getrefcount = sys.getrefcount
_getpid = os.getpid


class _Local(threading.local):
    def __init__(self) -> None:
        self.busy = False
        self.handled = (0, 0, 0, 0)  # ids of the last error let go, its traceback, the instruction, the frame
        self.handled_at = -1  # and the site
        self.recursion = (0, 0)  # ids of the last RecursionError and of its innermost traceback entry


class Engine:
    """Instruments imports and decides about every error that reaches an instrumented statement.

    ``config`` is validated already. ``agent`` may be None: then only the runbook answers.
    One engine at a time may be started in a process.
    """

    def __init__(self, config: Config, agent: Optional[Agent] = None) -> None:
        self.config = config
        self.agent = agent
        self.journal = Journal(config.journal)
        self.on_pause: List[Callable[[bool], None]] = []
        self.on_context: List[Callable[[CrashContext], None]] = []
        self._runbook = Runbook(config.runbook)
        self._decider = Decider(catchers=config.catchers)
        scope = Scope(config.root, config.sources)
        self._importer = Importer(scope, config.cache_dir, self.notice, config.intercept == "all")
        self._scratch: Optional[tempfile.TemporaryDirectory[str]] = None
        self._trial: Optional[Trial] = None
        self._guard = Guard(config.policy, self._policy_problem) if config.gate else None
        self._following: Optional[Type[Tracker]] = None
        self._get_following(self._guard)
        self._lock = threading.RLock()
        self._local = _Local()
        self._unit = Attempt("")
        self._crash = 0
        self._offered: List[BaseException] = []
        self._plans: List[Tuple[BaseException, Plan, Session]] = []
        self._known = None if config.intercept == "all" else self._decider.handled_before
        self._pid = os.getpid()

    # ----------------------------------------------------------------- lifecycle

    def start(self) -> None:
        """Install the import hook and fill the hooks' slot."""
        self._scratch = tempfile.TemporaryDirectory(prefix="heal-trial-")
        self._trial = Trial(self._scratch.name, timeout=10.0)
        self.journal.record(
            Started(
                version=__version__,
                python=platform.python_version(),
                agent=getattr(self.agent, "name", "") or "runbook",
                root=self.config.root,
                gate=self.config.gate,
            )
        )
        hooks.install(self._caught, self._known)
        self._importer.install()
        if self._guard is not None:
            self._guard.start()
            self._importer.listeners.append(self._guard.arrivals.listen)

    def stop(self, exit_code: Optional[int] = None) -> None:
        """Undo `start`. Code that is instrumented already stays so and declines everything."""
        hooks.disable()
        if self._unit.tracker is not None:
            self._unit.tracker.finish()
        self._importer.remove()
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None
        if self.agent is not None:
            self.agent.close()
        self._forget()
        if self.journal.problem:
            self.notice("journal", self.journal.problem, self.config.journal or "")
        self.journal.record(Stopped(exit_code=exit_code, decisions=self.decisions))
        self.journal.close()

    @property
    def decisions(self) -> Dict[str, int]:
        """How many errors were decided about, with what answer, and how many memory knew to be handled."""
        return {**self._decider.counters, "remembered": self._decider.remembered}

    def notice(self, code: str, message: str, where: str = "") -> None:
        """Put something that the user should know on record."""
        self.journal.record(Noticed(unit=self._unit.name, code=code, message=message, where=where))

    # ----------------------------------------------------------------- the policy

    def _policy_problem(self, problem: str) -> None:
        self.notice("policy", problem)

    @property
    def policy_problems(self) -> List[str]:
        """Entries of the policy that name nothing, as far as it is known: the run has to fail with them."""
        return list(self._guard.policy.problems) if self._guard is not None else []

    def look_for_policy(self) -> List[str]:
        """Resolve what has been imported by now. Returns `policy_problems`."""
        if self._guard is not None:
            self._guard.look()
        return self.policy_problems

    def protect(self, entries: Sequence[Dict[str, Any]]) -> None:
        """Protect more until the unit ends; entries as in the policy's plain JSON.

        Raises ``ValueError`` for one that names nothing, and without a gate, which has nothing to protect with.
        """
        guard = self._unit_guard()
        if guard is None:
            raise ValueError("healing runs unguarded, so nothing can be protected")
        self._unit.guard = guard.extended(entries)
        self._get_following(self._unit.guard)

    def _tracker(self, guard: Optional[Guard]) -> "Optional[Tracker]":
        """What follows the heals of the running unit; None where no policy protects anything."""
        unit = self._unit
        following = self._get_following(guard)
        if guard is None or following is None:
            return None
        if unit.tracker is None:
            unit.tracker = following(guard.policy, self.config.guard_mode, self._reached, self._fault,
                                     self.config.guard_budget, self._told_of_guard)
        tracker: Tracker = unit.tracker
        return tracker

    def _get_following(self, guard: Optional[Guard]) -> "Optional[Type[Tracker]]":
        """What follows heals under ``guard``, None where no policy protects anything.

        It is a third of what the core imports, so it is imported once a policy asks for it; and that before a test
        begins, whose mocks may be in the way.
        """
        if guard is None or not (guard.policy.entries or guard.policy.events):
            return None
        if self._following is None:
            from healguard_core.execution.tracking.tracker import Tracker

            self._following = Tracker
        return self._following

    def resting(self) -> ContextManager[None]:
        """Around what a test runner does for itself while a unit runs, as rendering a failure: nothing is followed."""
        tracker: Optional[Tracker] = self._unit.tracker
        return contextlib.nullcontext() if tracker is None else tracker.resting()

    def _told_of_guard(self, message: str) -> None:
        self.notice("guard", message)

    def _fault(self, fault: Exception) -> None:
        self.notice("internal", _told(fault))

    def _reached(self, stop: Stop, heals: Sequence[int]) -> None:
        """What a heal wrote reached a protected operation: put it on record."""
        crash = max(heals, default=self._crash)
        code, redact = self._unit.submitted.get(crash, ("", str))
        self.journal.record(
            Blocked(unit=self._unit_name(), crash=crash, code=code, submit=True, stage=stop.stage, heals=list(heals),
                    rule=stop.rule, policy_id=stop.policy_id, operation=stop.operation, key=redact(stop.key),
                    where=stop.where, path=list(stop.path), exact=stop.exact, live=True, message=redact(stop.message))
        )

    def _unit_guard(self) -> Optional[Guard]:
        if not self._unit.guarded:
            return None
        return self._unit.guard or self._guard

    # ----------------------------------------------------------------- units

    def begin(
        self,
        unit: str,
        *,
        enabled: bool = True,
        expected: Optional[Tuple[type, ...]] = None,
        agent: Optional[Agent] = None,
        max_calls: Optional[int] = None,
        armed: Sequence[Left] = (),
        repeatable: bool = False,
        policy: Optional[Dict[str, Any]] = None,
        guarded: bool = True,
    ) -> None:
        """An attempt of a test begins. Exceptions of the ``expected`` types are never paused in it.

        ``repeatable``: when the test fails with an undecided error, the caller runs it again with ``armed`` set
        to what `left_for` said, so such an error is not asked about again on its way out. ``policy`` replaces the
        run's own for this unit; with ``guarded`` False its heals run without gate and guard.
        """
        state = Attempt(unit)
        state.enabled = enabled
        state.expected = expected or ()
        state.agent = agent
        state.max_calls = max_calls
        state.armed = tuple(armed)
        state.repeatable = repeatable
        state.guarded = guarded
        if policy is not None and guarded:
            state.guard = Guard(policy, self._policy_problem)
            self._get_following(state.guard)
        if self._unit.tracker is not None:
            self._unit.tracker.finish()
        self._unit = state
        set_unit(unit)

    def end(self, unit: str) -> None:
        """Forget everything about ``unit`` that keeps the program's objects alive."""
        guard = self._unit_guard()
        if guard is not None:
            guard.tidy()
        if self._unit.tracker is not None:
            self._unit.tracker.finish()
        if self._unit.name == unit:
            self._unit = Attempt("")
            set_unit("")
        self._forget()

    def _forget(self) -> None:
        del self._offered[:]
        if self._plans:
            del self._plans[:]
            hooks.remember(self._known)

    def completed(self, exc: Optional[BaseException]) -> bool:
        """Whether the healed target call of the running unit returned; see `Attempt.completed`."""
        return self._unit.completed(exc)

    def left_for(self, exc: Optional[BaseException]) -> List[Left]:
        """The undecided sites that the running unit's failure with ``exc`` may go back to."""
        return self._unit.left_for(exc)

    # ----------------------------------------------------------------- an error reached a statement

    def _caught(self, number: int, frame: FrameType, exc: BaseException) -> Any:
        """Decide about ``exc``; see `hooks.heal` for what is returned and raised."""
        __tracebackhide__ = True
        local = self._local
        if local.busy:
            return ()
        if self._plans:
            plan = self._planned(frame, exc)
            if plan is not None:
                return self._go_on(self._carry_out(plan), frame)
        tb = exc.__traceback__
        passing = (id(exc), id(tb), tb.tb_lasti if tb is not None else 0, id(frame))
        if local.handled == passing and local.handled_at != number:
            return ()  # decided at a statement inside this one; no other error can look the same here
        if hooks.seen_below(exc, frame) and (not isinstance(exc, RecursionError) or self._recursion_seen(exc)):
            return ()
        unit = self._unit
        if not unit.enabled or _getpid() != self._pid or isinstance(exc, _NEVER):
            return ()
        if unit.expected and isinstance(exc, unit.expected):
            return ()
        try:
            try:
                resolution = self._consider(number, frame, exc)
            except RecursionError:  # the program stands at its limit, and so does this decision
                with head_room():
                    resolution = self._consider(number, frame, exc)
        except Exception as fault:
            # A fault of ours must not change the program; it must not go unseen either.
            self.notice("internal", _told(fault), "{}:{}".format(frame.f_code.co_filename, frame.f_lineno))
            return ()
        finally:
            local.busy = False
        if isinstance(exc, RecursionError):
            local.recursion = identity(exc)
        if resolution is None and not unit.was_left(exc):
            local.handled, local.handled_at = passing, number
        return () if resolution is None else self._go_on(resolution, frame)

    def _consider(self, number: int, frame: FrameType, exc: BaseException) -> Optional[Resolution]:
        self._local.busy = True
        self._purge()
        if any(error is exc for error in self._offered):
            return None
        if self.config.intercept == "all":
            return self._pause(number, frame, exc, "every exception is intercepted", False)
        if isinstance(exc, StopIteration) and _in_protocol(frame):
            return None
        if frame.f_code.co_flags & CO_GENERATOR_KINDS and thrown_in(exc, frame):
            return None
        on_its_way = self._unit.on_its_way_out(number, frame, exc)
        if on_its_way and self._unit.repeatable:
            return None
        decision = self._decider.decide(exc, frame)
        if isinstance(exc, StopIteration) and decision.answer != "handled" and self._is_raise(frame, number):
            return None  # `raise StopIteration` is the protocol, too
        kept = bool(decision.keeper) and self._unit.repeatable
        if decision.answer == "unhandled" and not kept:
            return self._pause(number, frame, exc, decision.why, False)
        if decision.answer != "handled" and not on_its_way and self._armed_or_left(number, frame, exc, decision):
            return self._pause(number, frame, exc, decision.why, bool(self._unit.armed))
        return None

    def _armed_or_left(self, number: int, frame: FrameType, exc: BaseException, decision: Decision) -> bool:
        """Whether an undecided error is to be paused at all the same; else it is put on record."""
        if self.config.undecided == "pause":
            return True
        unit = self._unit
        error = type(exc).__name__
        file = frame.f_code.co_filename
        occurrence = unit.occurrence(file, number, error)
        if unit.is_armed(file, number, error, occurrence):
            return True
        left = Left(
            unit=self._unit_name(),
            error=error,
            message=context.message_of(exc, redact=self.config.redact, secrets=secrets_among(frame.f_locals)),
            file=file,
            line=frame.f_lineno or 0,
            site=number,
            occurrence=occurrence,
            why=decision.why,
            keeper=decision.keeper,
        )
        unit.leave(exc, left)
        self.journal.record(left)
        return False

    def _recursion_seen(self, exc: RecursionError) -> bool:
        """Whether this error was decided about further in. Where it was raised there was no room to do so."""
        return self._local.recursion == identity(exc)

    # ----------------------------------------------------------------- the pause

    def _pause(
        self, number: int, frame: FrameType, exc: BaseException, why: str, second_look: bool
    ) -> Optional[Resolution]:
        with self._lock, head_room():
            site = self._site(frame, number)
            if site is None:
                self.notice("source-changed", "the source of an instrumented file cannot be read any more; "
                            "errors in it are left alone", frame.f_code.co_filename)
                return None
            self._crash += 1
            unit = self._unit
            unit.crashes += 1
            self._offered.append(exc)
            frames = repository_frames(frame, site, self._importer.sites)
            secrets = _secrets(frames, exc)
            self._record_crash(frames[0], exc, why, second_look, secrets)
            session = self._session(frames, exc, secrets)
            for observer in self.on_pause:
                observer(True)
            try:
                self._ask(session)
            except BaseException as interruption:
                session.reraise("interrupted by {}".format(type(interruption).__name__))
                raise
            finally:
                for observer in self.on_pause:
                    observer(False)
            return self._settle(session, frame, exc)

    def _record_crash(
        self, crashed: StackFrame, exc: BaseException, why: str, second_look: bool, secrets: Sequence[str]
    ) -> None:
        assert crashed.site is not None
        code = crashed.frame.f_code
        self.journal.record(
            Crashed(
                unit=self._unit_name(),
                crash=self._crash,
                error=type(exc).__name__,
                message=context.message_of(exc, redact=self.config.redact, secrets=secrets),
                file=code.co_filename,
                function=crashed.function,
                line=crashed.frame.f_lineno or crashed.site.line,
                statement=Redactor(self.config.redact, secrets).source(source_segment(code.co_filename, crashed.site)),
                why=why,
                second_look=second_look,
                thread="" if threading.current_thread() is threading.main_thread()
                else threading.current_thread().name,
            )
        )

    def _session(self, frames: List[StackFrame], exc: BaseException, secrets: Sequence[str]) -> Session:
        assert self._trial is not None
        unit = self._unit
        first = frames[0]

        def describe() -> CrashContext:
            described = context.describe(
                exc,
                first.frame,
                first.site,
                crash=self._crash,
                unit=unit.name,
                resumes=_possible_resumes(first),
                sites_for=self._importer.sites,
                is_repository=hooks.is_instrumented,
                redact=self.config.redact,
                attempt=unit.crashes,
                secrets=secrets,
            )
            for observer in self.on_context:
                observer(described)
            return described

        config = self.config if unit.guarded else dataclasses.replace(self.config, gate=False, policy=None)
        return Session(
            config=config,
            journal=self.journal,
            unit=self._unit_name(),
            crash=self._crash,
            exception=exc,
            frames=frames,
            describe=describe,
            trial=self._trial,
            max_calls=unit.max_calls if unit.max_calls is not None else self.config.max_calls,
            guard=self._unit_guard(),
            tracker=self._tracker(self._unit_guard()),
            secrets=secrets,
        )

    def _ask(self, session: Session) -> None:
        unit = self._unit
        if unit.heals >= self.config.max_heals:
            session.reraise("budget: {} heals were applied in this test already".format(unit.heals))
            return
        ask(session, self._runbook, unit.agent or self.agent, self.notice)

    def _settle(self, session: Session, frame: FrameType, exc: BaseException) -> Resolution:
        resolution = session.resolution
        assert resolution is not None, "every asked session is decided"
        unit = self._unit
        self._follow(session, frame)
        if resolution.way == "original":
            unit.not_healed()
        elif resolution.way == "outer":
            assert resolution.plan is not None
            self._plans.append((exc, resolution.plan, session))
            hooks.remember(None)  # until the error has come to the planned frame, every frame has to be looked at
        else:
            self._healed(frame, exc, resolution)
        return resolution

    def _healed(self, frame: FrameType, exc: BaseException, resolution: Resolution) -> None:
        self._offered[:] = [error for error in self._offered if error is not exc]
        self._unit.healed(frame)
        if resolution.way == "raise" and isinstance(resolution.value, BaseException):
            self._offered.append(resolution.value)  # raised on purpose: never a crash of its own

    def _follow(self, session: Session, frame: FrameType) -> None:
        """Go on in ``frame`` with eyes on what healing code wrote in this pause."""
        unit = self._unit
        if unit.tracker is not None and session.submitted:
            unit.submitted[session.crash] = (session.submitted, session.redact)
            unit.tracker.go_on(frame)

    # ----------------------------------------------------------------- heals of outer frames

    def _planned(self, frame: FrameType, exc: BaseException) -> Optional[Tuple[Plan, Session]]:
        for planned in list(self._plans):
            error, plan, session = planned
            if error is exc and plan.target.frame is frame:
                self._plans[:] = [other for other in self._plans if other is not planned]
                if not self._plans:
                    hooks.remember(self._known)
                return plan, session
        return None

    def _carry_out(self, planned: Tuple[Plan, Session]) -> Optional[Resolution]:
        plan, session = planned
        local = self._local
        local.busy = True
        try:
            resolution = session.carry_out(plan)
            self._follow(session, plan.target.frame)
            if resolution is None:
                self._unit.not_healed()
                return None
            self._healed(plan.target.frame, session.exception, resolution)
            return resolution
        finally:
            local.busy = False

    # ----------------------------------------------------------------- going on

    def _go_on(self, resolution: Optional[Resolution], frame: FrameType) -> Any:
        """Turn a resolution into what the handler's match expression gives or raises."""
        __tracebackhide__ = True
        if resolution is None or resolution.way in ("original", "outer"):
            return ()
        if resolution.way == "next":
            return Exception
        if resolution.way == "retry":
            resuming.retry(frame, resolution.value.retry_line)
            return Exception
        if resolution.way == "raise":
            raise hooks.wanted(resolution.value)
        way = {"return": hooks.RETURN, "continue": hooks.CONTINUE, "break": hooks.BREAK}[resolution.way]
        raise hooks.leave(way, resolution.value)

    # ----------------------------------------------------------------- small things

    def _site(self, frame: FrameType, number: int) -> Optional[Site]:
        sites = self._importer.sites(frame.f_code.co_filename)
        return sites[number] if number < len(sites) else None

    def _is_raise(self, frame: FrameType, number: int) -> bool:
        site = self._site(frame, number)
        return site is not None and site.node == "Raise"

    def _unit_name(self) -> str:
        return self._unit.name or current_unit()

    def _purge(self) -> None:
        """Drop errors that only this list keeps alive, so that no frame outlives its program."""
        for index in range(len(self._offered) - 1, -1, -1):
            if _getrefcount(self._offered[index]) <= 2:
                del self._offered[index]


_NEVER = (AssertionError, StopAsyncIteration)


def _told(fault: Exception) -> str:
    """The traceback of ``fault``, which is being handled; its place alone where a mock is in the way."""
    try:
        return traceback.format_exc()
    except Exception:
        tb = fault.__traceback__
        while tb is not None and tb.tb_next is not None:
            tb = tb.tb_next
        where = "?" if tb is None else "{}:{}".format(tb.tb_frame.f_code.co_filename, tb.tb_lineno)
        return "{} at {}".format(type(fault).__name__, where)


def _secrets(frames: Sequence[StackFrame], exc: BaseException) -> List[str]:
    """What stands under secret names in the paused frames, and in those that ``exc`` and its causes came out of."""
    found = [secret for frame in frames[:_SEARCHED] for secret in secrets_among(frame.read())]
    searched = 0
    for error in chain(exc):
        tb = error.__traceback__
        while tb is not None and searched < _SEARCHED:
            found += secrets_among(tb.tb_frame.f_locals)
            tb, searched = tb.tb_next, searched + 1
    return found


_SEARCHED = 20  # frames


def _in_protocol(frame: FrameType) -> bool:
    """Whether a StopIteration in ``frame`` is the iterator protocol at work rather than a crash."""
    return bool(frame.f_code.co_flags & CO_GENERATOR_KINDS) or callers.is_next(frame)


def _possible_resumes(target: StackFrame) -> List[str]:
    site = target.site
    if site is None:
        return []
    possible = [way for way in RESUMES if way == "next" or way in site.leaves]
    if resuming.can_retry(target.frame.f_code, site)[0]:
        possible.insert(1, "retry")
    return possible
