"""One pause: what an agent may do with it, and what came of it. May import guard, pause and journal."""

import ast
import builtins
import sys
import time
from typing import TYPE_CHECKING, Any, Callable, FrozenSet, List, NamedTuple, Optional, Sequence, Tuple

from healguard_core.execution.guard import gate
from healguard_core.execution.guard.enforcement import Guard, Watch
from healguard_core.execution.guard.imports import is_dangerous_object
from healguard_core.execution.guard.veto import Stop
from healguard_core.execution.journal import Journal
from healguard_core.execution.pause import paper
from healguard_core.execution.pause import resume as resuming
from healguard_core.execution.pause.frame import Ran
from healguard_core.execution.pause.redaction import Redactor
from healguard_core.execution.pause.stack import StackFrame
from healguard_core.execution.pause.trial import Trial, rehearse
from healguard_core.protocol import (
    PAPER,
    Blocked,
    Config,
    CrashContext,
    Event,
    ExecuteOutcome,
    Explored,
    Finding,
    Healed,
    Probed,
    Refused,
    Reraised,
    Stumbled,
    Used,
)

if TYPE_CHECKING:
    from healguard_core.execution.tracking.static.check import Verdict
    from healguard_core.execution.tracking.tracker import Tracker

RESUMES = ("next", "retry", "return", "continue", "break")

_clock = time.perf_counter
_BUILTINS = dict(vars(builtins))


class Resolution(NamedTuple):
    """How the paused frame goes on: ``way`` is one of `RESUMES`, ``raise``, ``outer`` or ``original``.

    ``value`` is what is returned or raised, or the site to retry; ``plan`` what to run when the exception has
    come to an outer frame.
    """

    way: str
    value: Any = None
    plan: Optional["Plan"] = None


class Plan(NamedTuple):
    """A heal for a frame that the exception has yet to reach."""

    target: StackFrame
    code: str
    resume: str
    by: str
    explanation: str
    crash: int


class Session:
    """What an agent sees of a paused program: its context, its frames, and three verbs.

    ``decided`` turns True once a heal was applied (or planned for an outer frame) or the error let go.
    Every verb is answered by an `ExecuteOutcome`; agents' mistakes come back in its ``error`` and never raise.
    """

    def __init__(
        self,
        *,
        config: Config,
        journal: Journal,
        unit: str,
        crash: int,
        exception: BaseException,
        frames: Sequence[StackFrame],
        describe: Callable[[], CrashContext],
        trial: Trial,
        max_calls: int,
        secrets: Sequence[str] = (),
        guard: Optional[Guard] = None,
        tracker: "Optional[Tracker]" = None,
    ) -> None:
        self.exception = exception
        self.frames = list(frames)
        self.crash = crash
        self.by = ""
        self.resolution: Optional[Resolution] = None
        self._config = config
        self._journal = journal
        self._unit = unit
        self._describe = describe
        self._context: Optional[CrashContext] = None
        self._trial = trial
        self._guard = guard
        self._tracker = tracker
        self.submitted = ""  # the code that ran last in the live frame
        self._redact = Redactor(config.redact, secrets).text
        self._calls_left = max_calls
        self._stopped = False  # whether the guard stopped the last rehearsal
        self._deadline = None if config.timeout is None else _clock() + config.timeout

    @property
    def context(self) -> CrashContext:
        """The description of the crash, made when first asked for."""
        if self._context is None:
            context = self._describe()
            context.protocol = self._config.protocol
            self._context = paper.reduced(context) if context.protocol == PAPER else context
        return self._context

    @property
    def decided(self) -> bool:
        return self.resolution is not None

    def budget_left(self) -> int:
        """How many more verbs this crash allows; 0 when its time is used up."""
        if self._deadline is not None and _clock() >= self._deadline:
            return 0
        return self._calls_left

    # ----------------------------------------------------------------- verbs

    def probe(self, code: str) -> ExecuteOutcome:
        """Run ``code`` in the crash frame to look at live state; nothing it binds stays."""
        refused = self._spend(code, submit=False) or self._gate(code, "probe")
        if refused:
            return refused
        began = _clock()
        frame = self.frames[0]
        watch = self._watch(code, submit=False)
        outcome, note = self._in_child(frame, code, watch, submit=False)
        child = outcome is not None
        if outcome is not None and self._stopped:
            return outcome
        if outcome is None:
            ran, _ = self._run(frame, code, watch, echo=False)
            if watch is not None and watch.stops:
                return self._blocked(code, watch.stops, submit=False, live=True, stdout=ran.stdout)
            outcome = self._outcome(code, False, ran.stdout, ran.value_repr, ran.error)
        self._record(
            Probed(
                crash=self.crash,
                code=code,
                stdout=outcome.stdout,
                value_repr=outcome.value_repr,
                error=outcome.error,
                ms=_ms(began),
                child=child,
                note=note,
            )
        )
        return outcome

    def heal(self, code: str, resume: str = "next", frame: int = 0, explanation: str = "") -> ExecuteOutcome:
        """Submit healing code for repository frame ``frame``; on success the session is decided."""
        refused = self._spend(code, submit=True) or self._gate(code, "heal", frame)
        if refused:
            return refused
        problem = self._impossible(code, resume, frame)
        if problem:
            return self._stumble(code, problem, live=False, began=_clock())
        target = self.frames[frame]
        began = _clock()
        rehearsal, note = self._in_child(target, code, self._watch(code, submit=True), submit=True)
        if rehearsal is not None and self._stopped:
            return rehearsal
        if rehearsal is not None and rehearsal.error:
            return self._stumble(code, rehearsal.error, live=False, began=began, stdout=rehearsal.stdout)
        if frame > 0:
            plan = Plan(target, code, resume, self.by, explanation, self.crash)
            self.resolution = Resolution("outer", plan=plan)
            return ExecuteOutcome(code=code, submit=True)
        rehearsed = rehearsal is not None and not note
        outcome, resolution = self._apply(target, code, resume, explanation, rehearsed, note)
        self.resolution = resolution
        return outcome

    def reraise(self, reason: str = "", wanted: bool = False, asked: bool = True) -> None:
        """Let the original exception go on."""
        if self.resolution is None:
            self.resolution = Resolution("original")
            self._record(Reraised(crash=self.crash, by=self.by, reason=reason, wanted=wanted, asked=asked))

    def spent(self, used: Used) -> None:
        """Put on record what asking about this crash cost."""
        used.crash = self.crash
        self._record(used)

    def explored(self, command: str, exit_code: Optional[int], problem: str, ms: float) -> None:
        """Put on record that the agent looked at the repository."""
        self._record(Explored(crash=self.crash, command=self._redact(command), exit_code=exit_code,
                              problem=self._redact(problem), ms=ms))

    def carry_out(self, plan: Plan) -> Optional[Resolution]:
        """Run a planned heal now that the exception has reached its frame; None when it failed."""
        self.by = plan.by
        _, resolution = self._apply(plan.target, plan.code, plan.resume, plan.explanation, False, "")
        if resolution is None:
            self.reraise("the heal failed when the exception reached {}".format(plan.target.function))
        return resolution

    # ----------------------------------------------------------------- steps of a submission

    def _apply(
        self, target: StackFrame, code: str, resume: str, explanation: str, rehearsed: bool, note: str
    ) -> Tuple[ExecuteOutcome, Optional[Resolution]]:
        began = _clock()
        watch = self._watch(code, submit=True)
        ran, healing = self._run(target, code, watch, echo=True)
        if watch is not None and watch.stops:
            return self._blocked(code, watch.stops, submit=True, live=True, stdout=ran.stdout), None
        error = ran.error or _leaves_badly(target, ran, resume)
        ahead = None if error else self._ahead(target, ran, resume)
        if ahead is not None and ahead.stop is not None:
            return self._blocked(code, [ahead.stop], submit=True, live=True, stdout=ran.stdout), None
        if not error:
            try:
                target.paused.write_back(ran)
            except ValueError as problem:
                error = str(problem)
        if error:
            return self._stumble(code, error, live=True, began=began, stdout=ran.stdout), None
        resolution = _resolution(target, ran, resume)
        if self._tracker is not None:
            self._tracker.settle(healing, target.frame, ran, resolution.way == "return")
        wrote = list(ran.wrote)
        if resolution.way == "return":
            wrote.append("return value")
        self._record(
            Healed(
                crash=self.crash,
                code=code,
                resume=resolution.way,
                frame=target.index,
                function=target.function,
                wrote=wrote,
                by=self.by,
                explanation=explanation,
                ms=_ms(began),
                rehearsed=rehearsed,
                note=note,
                verdict="unguarded" if not self._config.gate else "clean" if ahead and ahead.clean else "gated",
            )
        )
        return self._outcome(code, True, ran.stdout, ran.value_repr), resolution

    def _ahead(self, target: StackFrame, ran: Ran, resume: str) -> "Optional[Verdict]":
        """What must become of the heal when the program goes on; None where that is not looked at."""
        if self._guard is None or self._tracker is None or self._tracker.mode == "off":
            return None
        resolution = _resolution(target, ran, resume)
        bound = dict(ran.bindings, _eh_rtn=ran.return_value) if ran.has_return else ran.bindings
        elsewhere = any(not text.isidentifier() for text in ran.wrote)
        return self._tracker.ahead(self._guard.policy, target.frame, bound, resolution.way, elsewhere)

    def _run(self, target: StackFrame, code: str, watch: Optional[Watch], *, echo: bool) -> Tuple[Ran, Any]:
        """Run ``code`` in the live process, and follow what it writes."""
        if self._tracker is None:
            return target.paused.run(code, label=self._label(), echo=echo, watch=watch), None
        self.submitted = code
        with self._tracker.heal(self.crash, self._label(), target.frame) as healing:
            return target.paused.run(code, label=self._label(), echo=echo, watch=watch), healing

    def redact(self, text: str) -> str:
        """``text`` without secrets of the paused frames."""
        return self._redact(text)

    def _in_child(
        self, target: StackFrame, code: str, watch: Optional[Watch], *, submit: bool
    ) -> Tuple[Optional[ExecuteOutcome], str]:
        """Run ``code`` in a forked child: its outcome, or None and why it has to run in the live process."""
        self._stopped = False
        if self._config.trial == "off":
            return None, "trials are switched off"
        possible, why = self._trial.possible()
        if not possible:
            return None, why
        rehearsal = rehearse(self._trial, target.paused, code, self._label(), watch)
        if rehearsal.unusable:
            return None, rehearsal.unusable
        if rehearsal.stops:
            self._stopped = True
            return self._blocked(code, rehearsal.stops, submit=submit, live=False, stdout=rehearsal.stdout), ""
        if rehearsal.effect and submit:
            # An external effect cannot be rehearsed; what it may touch is the guard's business, not the trial's.
            return self._outcome(code, submit, rehearsal.stdout), "not rehearsed past " + rehearsal.effect
        error = rehearsal.error
        if rehearsal.effect:
            error = "probes must not change anything outside the program: {} was denied".format(rehearsal.effect)
        return self._outcome(code, submit, rehearsal.stdout, rehearsal.value_repr, error), ""

    def _spend(self, code: str, *, submit: bool) -> Optional[ExecuteOutcome]:
        if self.decided:
            return ExecuteOutcome(code, submit, error="this crash is already decided; wait for the next one")
        unusable = self._guard.unusable() if self._guard is not None else ""
        if unusable:
            self.reraise(unusable)
            return ExecuteOutcome(code, submit, error=unusable)
        if self.budget_left() <= 0:
            self.reraise("budget: {} calls or {} seconds for this crash are used up".format(
                self._config.max_calls, self._config.timeout))
            return ExecuteOutcome(code, submit, error="the budget of this crash is used up; the error goes on")
        self._calls_left -= 1
        return None

    def _gate(self, code: str, purpose: str, frame: int = 0) -> Optional[ExecuteOutcome]:
        if not self._config.gate:
            return None
        target = self.frames[frame if 0 <= frame < len(self.frames) else 0]
        findings: List[Finding] = gate.check(
            code, purpose=purpose, live_import=live_import, shadowed=_shadowed(target)
        )
        if not findings:
            return None
        submit = purpose == "heal"
        self._record(Refused(crash=self.crash, code=code, submit=submit, findings=findings))
        return ExecuteOutcome(code, submit, error="refused by the HealCore gate:\n" + gate.render(findings, code))

    def _impossible(self, code: str, resume: str, frame: int) -> str:
        """Why this submission cannot work whatever its code does, "" when nothing speaks against it."""
        if not code.strip():
            return "the code is empty; write `pass` when nothing but going on is wanted"
        if self._config.protocol == PAPER and not self.by.startswith("runbook:"):
            unknown = paper.refusal(code, resume, frame)
            if unknown:
                return unknown
        if resume not in RESUMES:
            return "resume must be one of {}; got {!r}".format(", ".join(RESUMES), resume)
        if not 0 <= frame < len(self.frames):
            return "frame must be 0 to {} (the repository frames of this crash); got {}".format(
                len(self.frames) - 1, frame)
        target = self.frames[frame]
        site = target.site
        if site is None:
            return "frame {} ({}) does not stand at a statement that can be healed".format(frame, target.function)
        assigns_return = "_eh_rtn" in _assigned_names(code)
        if resume == "return" and not assigns_return:
            return "resume: return needs `_eh_rtn = value` in the code"
        if assigns_return and "return" not in site.leaves:
            return "`_eh_rtn` cannot leave {}: {}".format(
                target.function, "there is no function to return from" if not _in_function(target) else
                "Python allows no return at this place (a finally block or an except* clause)")
        if resume in ("continue", "break") and resume not in site.leaves:
            return "resume: {} needs a loop around the statement in the same function".format(resume)
        if resume == "retry":
            possible, why = resuming.can_retry(target.frame.f_code, site)
            if not possible:
                return "resume: retry is not possible here: " + why
        return ""

    # ----------------------------------------------------------------- the guard

    def _watch(self, code: str, *, submit: bool) -> Optional[Watch]:
        if self._guard is None:
            return None
        watch = self._guard.watch(self._label())
        watch.late(lambda stop: self._record_stop(code, stop, submit=submit, live=True))
        return watch

    def _blocked(
        self, code: str, stops: Sequence[Stop], *, submit: bool, live: bool, stdout: str = ""
    ) -> ExecuteOutcome:
        """Put what was stopped on record, and tell the agent why nothing of its code is kept."""
        for stop in stops:
            self._record_stop(code, stop, submit=submit, live=live)
        reasons = "\n".join("{} at {}; instead: {}".format(stop.message, stop.where, stop.advice) for stop in stops)
        return self._outcome(code, submit, stdout, "", "stopped by HealGuard, and nothing of it is kept:\n" + reasons)

    def _record_stop(self, code: str, stop: Stop, *, submit: bool, live: bool) -> None:
        self._record(
            Blocked(
                crash=self.crash,
                code=code,
                submit=submit,
                stage=stop.stage,
                heals=[self.crash],
                rule=stop.rule,
                policy_id=stop.policy_id,
                operation=stop.operation,
                key=self._redact(stop.key),
                where=stop.where,
                path=list(stop.path),
                exact=stop.exact,
                live=live,
                message=self._redact(stop.message),
            )
        )

    # ----------------------------------------------------------------- small things

    def _stumble(self, code: str, error: str, *, live: bool, began: float, stdout: str = "") -> ExecuteOutcome:
        outcome = self._outcome(code, True, stdout, "", error)
        self._record(Stumbled(crash=self.crash, code=code, error=outcome.error, ms=_ms(began), live=live))
        return outcome

    def _outcome(
        self, code: str, submit: bool, stdout: str = "", value_repr: str = "", error: str = ""
    ) -> ExecuteOutcome:
        """What goes back to the agent, without secrets: it leaves the process."""
        return ExecuteOutcome(code, submit, self._redact(stdout), self._redact(value_repr), self._redact(error))

    def _record(self, event: Event) -> None:
        event.unit = self._unit
        self._journal.record(event)

    def _label(self) -> str:
        return "<heal {}>".format(self.crash)


def live_import(module: str, attribute: str) -> Optional[object]:
    """What ``from module import attribute`` would give, looked up among imported modules without importing."""
    loaded = sys.modules.get(module)
    return None if loaded is None else vars(loaded).get(attribute)


def _shadowed(target: StackFrame) -> FrozenSet[str]:
    """Builtin names that the frame has bound to something harmless of its own."""
    found = set()
    for name, value in target.read().items():
        builtin = _BUILTINS.get(name, value)
        if builtin is not value and not is_dangerous_object(value):
            found.add(name)
    return frozenset(found)


def _ms(began: float) -> float:
    return round((_clock() - began) * 1000, 3)


def _assigned_names(code: str) -> List[str]:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []  # running it reports the syntax error with its place
    return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def _in_function(target: StackFrame) -> bool:
    return bool(target.frame.f_code.co_flags & 0x1)  # CO_OPTIMIZED: functions have it, modules and classes have not


def _leaves_badly(target: StackFrame, ran: Ran, resume: str) -> str:
    if ran.has_return and ran.raise_exc is not None:
        return "set either `_eh_rtn` or `_eh_raise`, not both"
    if ran.has_return and resume in ("retry", "continue", "break"):
        return "`_eh_rtn` returns from the function, which contradicts resume: " + resume
    if ran.has_return and ran.return_value is not None and target.frame.f_code.co_flags & 0x200:
        return "an async generator cannot return a value; set `_eh_rtn = None` to end it"
    if resume == "return" and not ran.has_return:
        return "resume: return, but this run of the code did not set `_eh_rtn`"
    return ""


def _resolution(target: StackFrame, ran: Ran, resume: str) -> Resolution:
    if ran.raise_exc is not None:
        return Resolution("raise", ran.raise_exc)
    if ran.has_return:
        return Resolution("return", ran.return_value)
    if resume == "next" and target.site is not None and target.site.is_return and "return" in target.site.leaves:
        return Resolution("return", None)  # a return statement leaves its function whatever becomes of its value
    return Resolution(resume, target.site)
