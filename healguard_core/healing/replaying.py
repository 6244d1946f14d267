"""An agent that plays what another one did, and lets that one act where nothing is recorded. May import service.

What is replayed goes through the gate and the guard like any other heal; the model is not asked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

from healguard_core.healing.cassettes import Cassette, Entry, masked
from healguard_core.healing.exploring import Explored
from healguard_core.healing.pauses import Pause
from healguard_core.healing.service import HealingAgent
from healguard_core.protocol import ExecuteOutcome

ANSWERED_BY = "cassette"
_RESULTS = ("stdout", "value_repr", "error")


class Replaying:
    """One conversation: every crash from the cassette, or by the agent that ``make`` makes when it is first needed."""

    side: ClassVar[str] = "healing"
    uses_model: ClassVar[str] = "may"
    takes_argument: ClassVar[bool] = True

    def __init__(self, cassette: Cassette, make: Callable[[], HealingAgent], root: str) -> None:
        self._cassette = cassette
        self._make = make
        self._root = root
        self._agent: HealingAgent | None = None

    def respond(self, pause: Pause) -> None:
        found = self._cassette.find(pause.context)
        if isinstance(found, Entry):
            self._replay(pause, found)
        elif self._cassette.records:
            self._record(pause)
        else:
            pause.reraise(found.reason)

    def stop(self) -> None:
        if self._agent is not None:
            self._agent.stop()

    def close(self) -> None:
        if self._agent is not None:
            self._agent.close()

    # ----------------------------------------------------------------- recording

    def _record(self, pause: Pause) -> None:
        """Let the agent act, and write what it did. A crash that it could not decide is not written."""
        if self._agent is None:
            self._agent = self._make()
        self._agent.respond(pause)
        if not pause.decided or pause.failed:
            return
        used = pause.spending.used
        try:
            answers = [self._written(done) for done in pause.history]
            self._cassette.add(pause.context, used.agent, used.model, answers)
        except (OSError, ValueError) as problem:
            pause.note = f"not recorded: {problem}"
            raise

    def _written(self, done: dict[str, Any]) -> dict[str, Any]:
        """One action as it is stored. Code is stored as it was, or not at all: it has to run again."""
        code = done.get("code", "")
        if self._cassette.scrub(code) != code:
            raise ValueError("the code of an action holds what looks like a credential")
        return {name: masked(value, self._root) if name in _RESULTS else value
                for name, value in done.items() if value not in ("", None)}

    # ----------------------------------------------------------------- replaying

    def _replay(self, pause: Pause, entry: Entry) -> None:
        pause.spending.used.answered_by = ANSWERED_BY
        for number, action in enumerate(entry.answers, 1):
            difference = self._play(pause, action)
            if difference and not pause.decided:
                pause.reraise(f"cassette miss: action {number} of crash {entry.ordinal} {difference}; delete the "
                              f"recording in {self._cassette.path.name} and record it again")
            if pause.decided:
                return
        pause.reraise(f"cassette miss: the recording of crash {entry.ordinal} of {entry.unit} in "
                      f"{self._cassette.path.name} ends without a decision")

    def _play(self, pause: Pause, action: dict[str, Any]) -> str:
        """Do one action; return how it went otherwise than recorded, where that matters."""
        kind, code = str(action.get("action", "")), str(action.get("code", ""))
        if kind == "explore":
            exit_code = action.get("exit_code")
            pause.explored(code, Explored(exit_code=exit_code if isinstance(exit_code, int) else None,
                                          problem=str(action.get("error", ""))), 0.0)
            return ""
        if kind == "reraise":
            pause.reraise(str(action.get("reason", "")))
            return ""
        if kind == "probe":
            outcome = pause.probe(code)
        elif kind == "heal":
            frame = action.get("frame", 0)
            outcome = pause.heal(code, str(action.get("resume", "next")), frame if isinstance(frame, int) else 0,
                                 str(action.get("explanation", "")))
        else:
            return f"is {kind!r}, which this version does not know"
        return self._difference(kind, action, outcome)

    def _difference(self, kind: str, action: dict[str, Any], outcome: ExecuteOutcome) -> str:
        if self._cassette.mode != "strict":
            failed = kind == "heal" and outcome.error and not action.get("error")
            return f"failed, and did not when it was recorded: {_last_line(outcome.error)}" if failed else ""
        found = dataclasses.asdict(outcome)
        for name in _RESULTS:
            before, now = str(action.get(name, "")), self._cassette.scrub(masked(found[name], self._root))
            if before != now:
                return f"came to another end: its {name} was {before[:200]!r} and is {now[:200]!r}"
        return ""


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1][:300] if text.strip() else ""
