"""What the terminal shows: header, tracebacks, one line per crash, short summary lines, the right colour.

pytest prints no traceback and no summary line for categories that it does not know. Imports pytest.
"""

from __future__ import annotations

import copy
from typing import Any

from pytest_heal.categories import CATEGORIES, accepted, heal_of, not_accepted
from pytest_heal.records import Record
from pytest_heal.results import Results, shown
from pytest_heal.run import Run
from pytest_heal.wording import crash_line, place, plural

_NOTICES = 10  # more than that would bury the rest


class Terminal:
    """Adds our parts to pytest's terminal reporter."""

    def __init__(self, reporter: Any, run: Run, results: Results) -> None:
        self._reporter = reporter
        self._run = run
        self._results = results
        self._root = run.config.rootpath
        self._color = reporter._determine_main_color
        self._short = reporter.short_test_summary
        reporter._determine_main_color = self._main_color
        reporter.short_test_summary = self._short_summary

    # ----------------------------------------------------------------- header

    def pytest_report_header(self) -> list[str]:
        self._run.look_outside()
        early = [notice for notice in self._run.notices if notice["code"] == "imported-early"]
        lines = _setting_lines(self._run)
        if early:
            names = "; ".join(notice["message"] for notice in early)
            lines.append(f"heal: warning: {names}")
        return lines

    # ----------------------------------------------------------------- colour and short summary

    def _main_color(self, unknown_type_seen: bool) -> str:
        """Red when a test of ours does not count as passing; a category alone does not make it yellow."""
        reports = [report for name in CATEGORIES for report in self._reporter.stats.get(name, ())]
        if any(not accepted(heal_of(r)["category"], heal_of(r)["accept"]) for r in reports):
            return "red"
        if not_accepted(self._results.marks):
            return "red"
        return str(self._color(unknown_type_seen))

    def _short_summary(self) -> None:
        """Let pytest write the lines, beginning with its classic words: tools read them."""
        stats = self._reporter.stats
        kept = {name: stats.get(name) for name in ("failed", "error", "passed")}
        for name in CATEGORIES:
            for report in stats.get(name, ()):
                classic = "passed" if report.passed else "failed" if report.when == "call" else "error"
                stats[classic] = [*stats.get(classic, ()), _plain(report)]
        try:
            self._short()
        finally:
            for name, reports in kept.items():
                if reports is None:
                    stats.pop(name, None)
                else:
                    stats[name] = reports

    # ----------------------------------------------------------------- sections

    def pytest_terminal_summary(self) -> None:
        reporter = self._reporter
        if getattr(reporter, "no_summary", False):
            return
        self._write_tracebacks()
        if reporter.verbosity >= -1 and (self._results.marks or self._results.notices):
            self._write_summary()

    def _write_tracebacks(self) -> None:
        """Of every test of ours that did not simply pass, accepted or not."""
        reporter = self._reporter
        style = reporter.config.option.tbstyle
        reports = [report for name in CATEGORIES for report in reporter.getreports(name) if report.longrepr]
        if style == "no" or not reports:
            return
        reporter.write_sep("=", "HEALED AND FAILED", red=not all(report.passed for report in reports))
        for report in reports:
            if style != "line":
                at = "" if report.when == "call" else f" (at {report.when})"
                title = f"{heal_of(report)['category'].upper()} {reporter._getfailureheadline(report)}{at}"
                reporter.write_sep("_", title, red=not report.passed, bold=True)
            reporter._outrep_summary(report)
            if style == "line":
                reporter.write_line(reporter._getcrashline(report))

    def _write_summary(self) -> None:
        reporter = self._reporter
        refused = not_accepted(self._results.marks)
        reporter.write_sep("=", "heal summary", red=bool(refused), cyan=not refused)
        for mark, row in shown(self._results):
            if row["crashes"]:
                self._write_test(mark, row)
        for notice in self._results.notices[:_NOTICES]:
            where = place(notice["where"], self._root)
            reporter.write_line(f"note: {where}{': ' if where else ''}{_first(notice['message'])}")
        if len(self._results.notices) > _NOTICES:
            more = len(self._results.notices) - _NOTICES
            reporter.write_line(f"note: {more} more; see --heal-report or --heal-journal")
        self._write_verdict(refused)

    def _write_test(self, mark: Record, row: Record) -> None:
        name = mark["category"]
        color = {CATEGORIES[name].color: True} if name in CATEGORIES else {}
        word = self._reporter._tw.markup((name or str(row["outcome"])).upper(), **color)
        self._reporter.write_line(f"{word} {row['nodeid'] or '(before the first test)'}")
        for crash in row["crashes"]:
            self._reporter.write_line("  " + crash_line(crash, self._root))

    def _write_verdict(self, refused: list[str]) -> None:
        categories = [mark["category"] for mark in self._results.marks.values() if mark["category"]]
        counts = ", ".join(f"{categories.count(name)} {name}" for name in CATEGORIES if name in categories)
        guard = "" if self._run.settings.guarded else " UNGUARDED (--heal-guard=off)."
        if counts:
            self._reporter.write_line(f"{plural(len(categories), 'test')} crashed: {counts}.{guard}")
        passing = [nodeid for nodeid in refused if self._results.marks[nodeid]["category"] == "correct"]
        if passing:
            self._reporter.write_line(
                f"{plural(len(passing), 'test')} passed only after healing, which fails the run "
                f"(--heal-accept={self._run.settings.accept}; --heal-accept=correct lets them pass)", red=True)


def _plain(report: Any) -> Any:
    """The report without our mark, so that pytest shows it with its own words."""
    found = copy.copy(report)
    found.heal = {}
    return found


def _first(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else ""


def _setting_lines(run: Run) -> list[str]:
    """What the header says."""
    settings, core = run.settings, run.settings.core
    parts = [f"agent {settings.agent}", f"accept {settings.accept}"]
    if run.healing.shown:
        parts.insert(1, f"model {run.healing.shown}")
    if settings.policy is not None:
        parts.append(f"guard {place(str(settings.policy), run.config.rootpath)}")
    if core.runbook:
        parts.append(f"{len(core.runbook)} runbook entries")
    if core.sources:
        parts.append("source " + ", ".join(core.sources))
    lines = ["heal: " + ", ".join(parts)]
    if not settings.guarded:
        lines.append("heal: UNGUARDED (--heal-guard=off): healing code runs without the HealCore gate")
    return lines
