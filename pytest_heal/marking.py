"""Puts the verdict over an attempt on its reports, as plain JSON that travels between processes.

``report.heal`` is ``{"category", "accept", "applied", "record", "events"}`` on the one report that shows the
category, ``{"hidden": True}`` on a passing report that another one of the same test overrules.
"""

from __future__ import annotations

from typing import Any

import pytest

from healguard_core.protocol import Blocked, Event, Healed, Refused, Used
from pytest_heal.attempt import Attempt
from pytest_heal.categories import CATEGORIES, accepted
from pytest_heal.marks import plan_of
from pytest_heal.records import kept_events, plain, record_of, usage
from pytest_heal.run import Run

_WORDS = tuple(name.upper() + ": " for name in CATEGORIES)


class Marking:
    """Marks reports in the process that ran the test."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def mark(self, item: pytest.Item, attempt: Attempt, report: pytest.TestReport) -> None:
        """Take ``report`` into account and mark all reports of the attempt anew."""
        attempt.reports.append(report)
        if report.failed:
            attempt.failures.append(report)
        self._attach_session(report)
        if not attempt.on_record:
            return
        category = attempt.verdict()
        shown = attempt.failures[0] if attempt.failures else _called(attempt)
        if shown is None:
            return  # nothing but a passing setup so far
        for other in attempt.reports:
            hidden = bool(category) and other is not shown and other.when == "call" and other.passed
            _put(other, {"hidden": True} if hidden else {})
        _put(shown, self._mark(item, attempt, category, shown))
        if shown in attempt.failures and category:
            self._judge_failure(shown, category, plan_of(item, self._run.settings).accept)

    def _mark(self, item: pytest.Item, attempt: Attempt, category: str, shown: pytest.TestReport) -> dict[str, Any]:
        record = record_of(str(item.nodeid), category or shown.outcome, attempt.events, attempt.earlier)
        record["attempt"] = attempt.number
        record["second_look"] = attempt.second_look
        self._run.config.hook.pytest_heal_report(record=record, item=item, config=self._run.config)
        return {
            "category": category,
            "accept": plan_of(item, self._run.settings).accept,
            "applied": sum(isinstance(event, Healed) for event in attempt.events),
            "record": plain(record),
            "events": kept_events(attempt.events),
        }

    def _judge_failure(self, report: pytest.TestReport, category: str, accept: str) -> None:
        """Say the category in the message that every consumer shows; let an accepted test pass."""
        crash = getattr(report.longrepr, "reprcrash", None)
        if crash is not None:
            message = str(crash.message)
            for word in _WORDS:
                message = message.removeprefix(word)
            crash.message = f"{category.upper()}: {message}"
        if category == "proceed" and report.when == "call" and accepted(category, accept):
            report.outcome = "passed"

    def _attach_session(self, report: pytest.TestReport) -> None:
        """What happened outside tests travels with the next test's report."""
        run = self._run
        if run.collected or run.notices:
            report.heal_session = {"collected": run.collected, "notices": run.notices}  # type: ignore[attr-defined]
            run.collected, run.notices = [], []

    # ----------------------------------------------------------------- properties

    def write_properties(self, item: pytest.Item, attempt: Attempt, failed: bool) -> None:
        """Give the test its JUnit properties; ``failed`` says whether its last phase did."""
        if self._run.settings.junit != "properties" or not attempt.crashed:
            return
        kept = [pair for pair in item.user_properties if not pair[0].startswith("heal.")]
        ours = properties(attempt.events, attempt.verdict(failed), self._run.settings.agent)
        item.user_properties[:] = [*kept, *ours]


def properties(events: list[Event], category: str, agent: str) -> list[tuple[str, object]]:
    """The fields that JUnit carries about one test."""
    heals = [event for event in events if isinstance(event, Healed)]
    refused = [event for event in events if isinstance(event, Refused)
               and any(finding.severity == "dangerous" for finding in event.findings)]
    stopped = {(event.crash, event.code, event.submit) for event in events if isinstance(event, Blocked)}
    spent = usage(events)
    by = sorted({heal.by for heal in heals if heal.by}) or [agent]
    return [
        ("heal.outcome", category),
        ("heal.crashes", sum(type(event).__name__ == "Crashed" for event in events)),
        ("heal.applied", len(heals)),
        ("heal.blocked", len(refused) + len(stopped)),
        ("heal.agent", ", ".join(by)),
        ("heal.model", ", ".join(sorted({event.model for event in events if isinstance(event, Used) and event.model}))),
        ("heal.calls", spent["calls"]),
        ("heal.cost_usd", "unknown" if spent["cost_usd"] is None else spent["cost_usd"]),
        ("heal.patch", "\n".join(heal.code.strip() for heal in heals)),
    ]


def _called(attempt: Attempt) -> pytest.TestReport | None:
    """The report of the call, or of the teardown of a test that was never called."""
    for when in ("call", "teardown"):
        for report in attempt.reports:
            if report.when == when:
                return report
    return None


def _put(report: pytest.TestReport, heal: dict[str, Any]) -> None:
    report.heal = heal  # type: ignore[attr-defined]
