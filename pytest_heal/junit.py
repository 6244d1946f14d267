"""What JUnit XML says about healing beyond each testcase's properties. Imports pytest.

Works on the process that writes the file, because suite properties do not travel from workers.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Generator
from typing import Any

import pytest
from _pytest.junitxml import xml_key

from pytest_heal.categories import heal_of, not_accepted
from pytest_heal.counting import as_failed, passes_unaccepted
from pytest_heal.jsonreport import totals
from pytest_heal.records import Record
from pytest_heal.results import Results
from pytest_heal.settings import Settings
from pytest_heal.wording import crash_line


class JUnit:
    """Follows pytest's own JUnit writer, when there is one."""

    def __init__(self, config: pytest.Config, settings: Settings, results: Results) -> None:
        self._xml: Any = config.stash.get(xml_key, None)
        self._settings = settings
        self._results = results

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None]:
        if self._xml is None:
            return (yield)
        mark = heal_of(report)
        if report.when == "teardown":  # the writer closes the testcase at this report
            self._write_output(report, mark)
        result = yield
        if report.when != "teardown":
            self._write_output(report, mark)
        if report.when == "call" and passes_unaccepted(report):
            self._xml.node_reporter(report).append_failure(as_failed(report))
            self._xml.stats["passed"] -= 1  # the writer counted it before
        return result

    def _write_output(self, report: pytest.TestReport, mark: Record) -> None:
        if self._settings.junit == "system-out" and "record" in mark:
            node = ElementTree.Element("system-out")
            node.text = text_of(mark)
            self._xml.node_reporter(report).append(node)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        if self._xml is None or self._settings.junit == "off":
            return
        for name, value in suite_properties(self._settings, self._results):
            self._xml.add_global_property(name, str(value))


def suite_properties(settings: Settings, results: Results) -> list[tuple[str, object]]:
    """The run's totals."""
    sums = totals(list(results.tests.values()), len(not_accepted(results.marks)))
    categories = [(f"heal.tests.{name}", sums["outcomes"].get(name, 0))
                  for name in ("correct", "proceed", "unsafe", "halted", "reraised")]
    return [
        ("heal.agent", settings.agent),
        ("heal.accept", settings.accept),
        ("heal.guarded", str(settings.guarded).lower()),
        *categories,
        ("heal.crashes", sums["crashes"]),
        ("heal.applied", sums["applied"]),
        ("heal.not_accepted", sums["not_accepted"]),
        ("heal.calls", sums["usage"]["calls"]),
        ("heal.cost_usd", "unknown" if sums["usage"]["cost_usd"] is None else sums["usage"]["cost_usd"]),
    ]


def text_of(mark: Record) -> str:
    """A test's record as lines of text."""
    lines = [f"heal.outcome: {mark['category']}"]
    return "\n".join(lines + [crash_line(crash) for crash in mark["record"]["crashes"]])
