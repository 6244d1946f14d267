"""What is known about one attempt of a test, phase by phase, and the verdict over it. May import healguard_core."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from healguard_core.outcome import outcome
from healguard_core.protocol import Crashed, Event, Left


@dataclasses.dataclass
class Attempt:
    """One run of a test through setup, call and teardown."""

    number: int = 1
    enabled: bool = True
    expected: tuple[type[BaseException], ...] = ()
    armed: list[Left] = dataclasses.field(default_factory=list)
    second_look: bool = False
    rollbacks: int = 0  # how often the test was run again from its start because its agent asked for that
    earlier: list[Event] = dataclasses.field(default_factory=list)  # of attempts that this one replaces
    events: list[Event] = dataclasses.field(default_factory=list)
    passed: bool = True
    completed: bool = True
    skipped: bool = False
    in_call: bool = False
    subtests: int = 0
    protected: list[list[dict[str, Any]]] = dataclasses.field(default_factory=list)  # by the fixture, for this test
    left: list[Left] = dataclasses.field(default_factory=list)  # undecided, and the test failed with them
    reports: list[pytest.TestReport] = dataclasses.field(default_factory=list)
    failures: list[pytest.TestReport] = dataclasses.field(default_factory=list)  # those that failed at first

    def failed_with(self, completed: bool, left: list[Left]) -> None:
        """A phase (or subtest) failed."""
        self.passed = False
        self.completed = self.completed and completed
        self.left = left

    @property
    def crashed(self) -> bool:
        """Whether anything was paused."""
        return any(isinstance(event, Crashed) for event in self.events)

    @property
    def on_record(self) -> bool:
        """Whether there is anything to report: this attempt crashed, or one that it replaces cost something."""
        return any(isinstance(event, Crashed) for event in (*self.earlier, *self.events))

    def verdict(self, failed_now: bool = False) -> str:
        """The category over everything so far; "" when it is pytest's own."""
        if not self.crashed or self.skipped:
            return ""
        return outcome(self.events, self.passed and not failed_now, self.completed) or ""


ATTEMPT = pytest.StashKey[Attempt]()
