"""What the terminal shows while a suite runs, and at its end. Imports results, metrics and setting.

One line per instance that ended: how many of how many, PR and CR so far, and about how long the rest will take. Under
-v pytest's own lines carry the same figures; under -q there are only letters.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from benchmark_suites import metrics
from benchmark_suites.results import BROKEN, Result
from benchmark_suites.setting import Setting


class Progress:
    """Follows the reports in the process that shows them. ``seconds`` are what instances took before."""

    def __init__(
        self, config: pytest.Config, reporter: Any, suite: str, setting: Setting, seconds: Mapping[str, float]
    ) -> None:
        self._reporter = reporter
        self._title = f"suite {suite}: {setting.label}"
        self._option = config.option
        self._seconds = dict(seconds)
        self._began = time.monotonic()
        self._waiting: set[str] = set()
        self._total = 0
        if config.option.verbose == 0:
            reporter.showfspath = False  # every instance has a line of its own
        self.results: list[Result] = []

    # ----------------------------------------------------------------- how many

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._expect([item.name for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self._expect([id.rpartition("::")[2] for id in ids])

    def _expect(self, names: Sequence[str]) -> None:
        if names and not self._total:
            self._total = len(names)
            self._waiting = {name.strip("[]") for name in names}
            left = self._left()
            if left is not None and self._option.verbose >= 0:
                self._reporter.write_line(f"{self._title}: {self._total} instances, {spelled(left)} when none of them "
                                          f"is recorded yet")

    # ----------------------------------------------------------------- one after the other

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """An instance shows how its target test ended; it counts as passed when that test passed."""
        result = result_of(report)
        if result is None or report.outcome not in ("passed", "failed"):
            return None
        shown = (result.failure or result.outcome) if result.outcome == BROKEN else result.outcome
        if self._option.verbose < 0:
            return report.outcome, shown[0].upper(), shown.upper()
        if self._option.verbose == 0:
            return report.outcome, "", ""  # the line below says it
        return report.outcome, shown[0].upper(), f"{shown.upper()} ({self._so_far(result)})"

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        result = result_of(report)
        if result is None:
            return
        self._count(result)
        if self._option.verbose == 0:
            shown = f"{result.outcome}" + (f" ({result.failure})" if result.failure else "")
            again = " (recorded)" if report.suite_earlier else f" {result.seconds:.1f} s"
            self._reporter.ensure_newline()
            self._reporter.write_line(f"{shown.upper():<10} {result.instance}{again} | {self._so_far()}")

    def _count(self, result: Result) -> None:
        if result.instance in self._waiting:
            self._waiting.discard(result.instance)
            self.results.append(result)

    def _so_far(self, latest: Result | None = None) -> str:
        """Figures over everything that ended, ``latest`` included, and the expected time."""
        if latest is not None:
            self._count(latest)
        rates = metrics.rates(self.results)
        left = self._left()
        told = f"{len(self.results)}/{self._total}, PR {rates.pr.percent:.1f} %, CR {rates.cr.percent:.1f} %"
        return told if left is None else f"{told}, {spelled(left)} left"

    def _left(self) -> float | None:
        """Seconds until the end: what the others took, or the mean so far, over the workers. None when unknown."""
        if not self._waiting:
            return 0.0
        known = [self._seconds[name] for name in self._waiting if self._seconds.get(name)]
        measured = [result.seconds for result in self.results if result.seconds]
        if not known and not measured:
            return None
        mean = (sum(measured) or sum(known)) / (len(measured) or len(known))
        workers = len(getattr(self._option, "tx", None) or ()) or 1
        return (sum(known) + mean * (len(self._waiting) - len(known))) / workers

    # ----------------------------------------------------------------- the end

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """How many instances ended in which way, and the rates with their intervals."""
        if not self.results:
            return
        terminalreporter.section(self._title)
        for outcome, count in Counter(result.outcome for result in self.results).most_common():
            terminalreporter.line(f"{outcome:<10} {count:>5}")
        rates = metrics.rates(self.results)
        right = sum(result.right for result in self.results)
        terminalreporter.line(f"target test passed: {right} of {len(self.results)} ({rates.cr.percent:.1f} %)")
        terminalreporter.line(f"PR {rates.pr}   CR {rates.cr}   " + (
            f"TS {rates.ts:.1f} % (of {rates.scored})" if rates.ts is not None else "TS not measured"))
        failures = Counter(result.failure for result in self.results if result.failure)
        for failure, count in sorted(failures.items()):
            terminalreporter.line(f"{count} with a failure of class {failure!r}; they stay in the denominators")


def result_of(report: Any) -> Result | None:
    """The result that travels with the report of an instance; None for reports of anything else."""
    given = getattr(report, "suite_result", None)
    return None if given is None else Result(**given)


def spelled(seconds: float) -> str:
    """A rough time in words."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    return f"about {round(seconds / 60)} min"
