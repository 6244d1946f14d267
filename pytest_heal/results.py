"""Collects what every test's reports say, in the process that reports to the user, and writes the run's files.

Imports healguard_core. Reports arrive one by one (from workers as well), so nothing is lost with a worker.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from pytest_heal.categories import accepted, heal_of
from pytest_heal.decisions import Decisions
from pytest_heal.jsonreport import document, write_report
from pytest_heal.records import Record, crashed, no_usage
from pytest_heal.run import Run

_now = time.time
_FAILING = ("policy", "cassette")  # what was not protected, and what was not replayed
_SUBTESTS = ("SubtestReport", "SubTestReport")  # of pytest 9 and of pytest-subtests


class Results:
    """All tests of the run by node id, in the order in which they ended."""

    def __init__(self, run: Run, decisions: Decisions) -> None:
        self._run = run
        self._decisions = decisions
        self.started = _now()
        self.tests: dict[str, Record] = {}
        self.marks: dict[str, Record] = {}  # of tests that crashed, and of modules that did at import
        self.notices: list[Record] = []
        self._session: pytest.Session | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session

    # ----------------------------------------------------------------- reports

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._take_session(report)
        status = self._run.config.hook.pytest_report_teststatus(report=report, config=self._run.config)
        category = status[0] if status else report.outcome if report.when == "call" else ""  # without a terminal
        if category == "rerun" or type(report).__name__ in _SUBTESTS:  # an attempt that does not count; a part
            return
        nodeid = str(report.nodeid)
        mark = heal_of(report)
        if "record" in mark:
            self.marks[nodeid] = mark
        known = self.tests.get(nodeid)
        if category and (known is None or category == "error"):
            known = self.tests[nodeid] = {"nodeid": nodeid, "outcome": category, "crashes": [], "usage": no_usage()}
        if known is not None and nodeid in self.marks:
            outcome = self.marks[nodeid]["category"] or known["outcome"]
            self.tests[nodeid] = {**self.marks[nodeid]["record"], "outcome": outcome}

    @pytest.hookimpl(trylast=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._take_session(report)

    def _take_session(self, report: Any) -> None:
        brought = getattr(report, "heal_session", None)
        if brought:
            self._merge(brought["collected"], brought["notices"])

    def _merge(self, collected: list[Record], notices: list[Record]) -> None:
        """Every worker imports the same modules: the first record of each is enough."""
        for mark in collected:
            nodeid = mark["record"]["nodeid"]
            if nodeid not in self.marks:
                self.marks[nodeid] = mark
                self.tests[nodeid] = mark["record"]
                self._count(mark)
        self.notices += [notice for notice in notices if notice not in self.notices]

    def _count(self, mark: Record) -> None:
        """A module that could be imported only after healing fails the run unless that is accepted."""
        passed = mark["category"] == "correct"
        if passed and not accepted("correct", mark["accept"]) and self._session is not None:
            self._session.testsfailed += 1

    # ----------------------------------------------------------------- the end

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the run's files, also when the run was interrupted."""
        run = self._run
        outside = run.take("")
        if crashed(outside):  # in a conftest file, and nothing was collected afterwards
            run.put_aside("", outside, passed=True, completed=True)
        self._merge(run.collected, run.notices)
        if run.engine.journal.problem:
            self.notices.append({"code": "journal", "message": run.engine.journal.problem, "where": ""})
        run.collected, run.notices = [], []
        settings = run.settings
        if settings.cassette is not None or settings.http_cassette is not None:
            from pytest_heal.cassettes import differences

            self.notices += differences(settings, self.tests)
        if exitstatus == pytest.ExitCode.OK and any(notice["code"] in _FAILING for notice in self.notices):
            session.exitstatus = exitstatus = pytest.ExitCode.TESTS_FAILED
        if settings.report is not None:
            write_report(settings.report, self.document(int(exitstatus)))
        if settings.html is not None:
            from pytest_heal.html import write_page

            write_page(settings.html, self.document(int(exitstatus)))
        if settings.sarif is not None:
            from pytest_heal.sarif import write_sarif

            write_sarif(settings.sarif, self.marks.values(), run.config.rootpath)
        if settings.record is not None:
            from pytest_heal.recording import record_heals

            self.notices += record_heals(settings.record, self.marks.values())
        if settings.suggest is not None:
            from pytest_heal.suggest import write_suggestions

            self.notices += write_suggestions(settings.suggest, self.marks.values(), run.config.rootpath)

    def document(self, exit_status: int) -> Record:
        """The whole report as JSON values."""
        report = document(self._run, list(self.tests.values()), self.marks, self.notices, exit_status, self.started)
        report["totals"]["decisions"] = self._decisions.total()
        return report


def shown(results: Results) -> list[tuple[Record, Record]]:
    """Every test or module that crashed: its mark and its row of the report."""
    rows = results.tests
    return [(mark, rows[nodeid] if nodeid in rows else mark["record"]) for nodeid, mark in results.marks.items()]


