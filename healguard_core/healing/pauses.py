"""One paused program as an agent of the healing side sees it: the session's verbs, answered by the execution side.

The agent's thread asks for a verb and waits; the execution side's polls take it and bring the outcome back. May import
meter, exploring and protocol.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

from healguard_core.healing.exploring import Explored
from healguard_core.healing.meter import Meter, Spending
from healguard_core.protocol import CrashContext, ExecuteOutcome


class PauseOver(Exception):
    """The crash is decided or was given up: no verb is possible any more. The text says why."""


class Pause:
    """A session over HTTP. ``decided`` turns True once a heal was applied or the error is to go on."""

    def __init__(self, number: str, context: CrashContext, spending: Spending, meter: Meter) -> None:
        self.number = number
        self.context = context
        self.spending = spending
        self.note = ""  # what the agent is doing, for whoever waits
        self.ended = False  # the execution side said that the crash is over
        self.failed = False  # the agent could not decide: it broke, or a budget was used up
        self.history: list[dict[str, Any]] = []  # what the agent did, as a cassette keeps it
        self._meter = meter
        self._changed = threading.Condition()
        self._ordinal = 0
        self._verb: dict[str, Any] | None = None  # asked for, and not answered yet
        self._sent = 0
        self._outcome: ExecuteOutcome | None = None
        self._over = ""
        self.looks: list[dict[str, Any]] = []  # at the repository
        self._told = 0  # how many of them the execution side knows of

    # ----------------------------------------------------------------- the agent's side

    @property
    def decided(self) -> bool:
        return bool(self._over)

    @property
    def why_over(self) -> str:
        """Why the crash is decided, "" as long as it is not."""
        return self._over

    def budget_left(self) -> int:
        """How many more provider requests this crash allows; 0 when nothing more may be asked."""
        if self._meter.refusal(self.spending):
            return 0
        return self.spending.max_calls - self.spending.used.calls

    def probe(self, code: str) -> ExecuteOutcome:
        """Run ``code`` in the crash frame to look at live state. Raises `PauseOver`."""
        return self._ask({"verb": "probe", "code": code})

    def heal(self, code: str, resume: str = "next", frame: int = 0, explanation: str = "") -> ExecuteOutcome:
        """Submit healing code; without an ``error`` in the outcome the crash is decided. Raises `PauseOver`."""
        return self._ask({"verb": "heal", "code": code, "resume": resume, "frame": frame, "explanation": explanation})

    def reraise(self, reason: str = "") -> None:
        """Let the original exception go on. Does nothing when the crash is decided already."""
        with self._changed:
            if self._over:
                return
            self._over = reason or "the agent let the error go on"
            self.history.append({"action": "reraise", "reason": reason})
            self._put({"verb": "reraise", "reason": reason})

    def fail(self, reason: str) -> None:
        """Let the error go on because the agent cannot decide."""
        self.failed = self.failed or not self._over
        self.reraise(reason)

    def explored(self, command: str, explored: Explored, ms: float) -> None:
        """The agent has looked at the repository; the execution side puts that on record."""
        looked = {"command": command, "exit_code": explored.exit_code, "problem": explored.problem, "ms": round(ms, 1)}
        with self._changed:
            self.looks.append(looked)
            self.history.append({"action": "explore", "code": command, "exit_code": explored.exit_code,
                                 "error": explored.problem})

    def wait_over(self, seconds: float) -> bool:
        """Wait until the crash is decided, at most ``seconds``; return whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: bool(self._over), seconds)

    def _ask(self, verb: dict[str, Any]) -> ExecuteOutcome:
        with self._changed:
            if self._over:
                raise PauseOver(self._over)
            if self._verb is not None:
                raise PauseOver("another verb is under way")
            self._put(verb)
            ordinal = self._ordinal
            self._changed.wait_for(lambda: self._over or self._outcome is not None or self._ordinal != ordinal)
            outcome, self._outcome = self._outcome, None
            if outcome is not None:
                return outcome
            raise PauseOver(self._over)

    def _put(self, verb: dict[str, Any]) -> None:
        self._ordinal += 1
        self._verb = {**verb, "id": self._ordinal}
        self._changed.notify_all()

    def _finish(self, why: str) -> None:
        with self._changed:
            self._over = self._over or why
            self._changed.notify_all()

    # ----------------------------------------------------------------- the execution side's

    def answer(self, ordinal: int, outcome: ExecuteOutcome | None) -> None:
        """What came of the verb with this ordinal. Late and repeated answers are dropped."""
        with self._changed:
            if self._verb is None or outcome is None or ordinal != self._verb["id"]:
                return
            if self._verb["verb"] == "heal" and not outcome.error:
                self._over = self._over or "healed"
            asked = {name: value for name, value in self._verb.items() if name not in ("verb", "id")}
            came = {name: getattr(outcome, name) for name in ("stdout", "value_repr", "error")}
            self.history.append({"action": self._verb["verb"], **asked, **came})
            self._outcome, self._verb = outcome, None
            self._changed.notify_all()

    def next(self, seconds: float) -> dict[str, Any]:
        """The next verb to carry out, or ``wait`` when there is none within ``seconds``."""
        with self._changed:
            self._changed.wait_for(self._unsent, seconds)
            if self._unsent() and self._verb is not None:
                self._sent = self._verb["id"]
                return {**self._verb, **self._new_looks()}
            used = self.spending.used
            return {"verb": "wait", "calls": used.calls, "cost_usd": used.cost_usd, "note": self.note,
                    **self._new_looks()}

    def _new_looks(self) -> dict[str, Any]:
        looks, self._told = self.looks[self._told:], len(self.looks)
        return {"explored": looks} if looks else {}

    def _unsent(self) -> bool:
        return self._verb is not None and self._verb["id"] > self._sent

    def end(self) -> dict[str, Any]:
        """The crash is over, whoever decided it: what it cost, and looks at the repository that were not told yet."""
        self._finish("the crash is over")
        self.ended = True
        self._meter.stop(self.spending, "the crash is over")
        used = self.spending.used
        used.seconds = round(time.monotonic() - self.spending.began, 3)
        known = {name: value for name, value in vars(used).items() if name not in ("at", "unit", "crash")}
        with self._changed:
            return {"used": known, **self._new_looks()}

    def stop(self, reason: str) -> None:
        """Give the crash up at once: nothing more is sent to a model, and the error goes on."""
        self.fail(reason)
        self._meter.stop(self.spending, reason)


@contextlib.contextmanager
def noting(pause: Pause, note: str) -> Any:
    """Show ``note`` to whoever waits for as long as something takes."""
    before, pause.note = pause.note, note
    try:
        yield
    finally:
        pause.note = before
