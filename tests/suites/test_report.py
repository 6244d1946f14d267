"""Reports and comparisons over results that are written here."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from benchmark_suites import report
from benchmark_suites.compare import compare
from benchmark_suites.results import BROKEN, Result, Results
from benchmark_suites.setting import Setting

NASTY = "<b>|pandas|</b>"
HEAL = {"actions": [{"kind": "probe"}, {"kind": "submit"}], "heal": {"verdict": "gated"}}
BLOCKED = {"actions": [{"kind": "submit", "stops": [{"rule": "HG301"}]}], "heal": {"verdict": "blocked"}}


def put(folder: Path, setting: Setting, rows: dict[str, tuple[str, dict[str, Any]]], suite: str = "releases") -> None:
    store = Results(folder, suite, setting)
    for instance, (outcome, more) in rows.items():
        values: dict[str, Any] = {"package": "numpy", "error_type": "TypeError", "crashes": [HEAL], "seconds": 2.0,
                                  "version": "1", "completed": outcome in ("correct", "proceed")} | more
        store.append(Result(suite, instance, setting.agent, setting.model, setting.guard, outcome,
                            options=dict(setting.options), **values))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two baselines, and a model with and without a guard."""
    trace = {"overlap": 0.5, "equal": 0.25, "complete": True}
    usage = {"calls": 3, "input_tokens": 1000, "output_tokens": 10, "cost_usd": 0.5}
    put(tmp_path, Setting(), {"a": ("correct", {"trace": trace}), "b": ("correct", {"package": NASTY}),
                              "c": (BROKEN, {"failure": "environment", "problem": "no wheel\nmore", "crashes": []})})
    put(tmp_path, Setting("reraise"), {"a": ("reraised", {}), "b": ("reraised", {"package": NASTY}),
                                       "c": ("reraised", {"error_type": "KeyError"})})
    model = {"heal_model": "gpt"}
    put(tmp_path, Setting("healer", model), {"a": ("correct", {"usage": usage}), "b": ("proceed", {"usage": usage})})
    put(tmp_path, Setting("healer", {**model, "heal_guard": "off"}), {"a": ("correct", {"usage": usage})})
    put(tmp_path, Setting("healer", {**model, "heal_guard": "sinks.yaml"}),
        {"a": ("unsafe", {"crashes": [HEAL, BLOCKED]}), "b": ("proceed", {})})
    return tmp_path


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_tables_say_what_the_results_say(results: Path, tmp_path: Path) -> None:
    written = {path.name: path for path in report.write_report(results, tmp_path / "out")}
    outcomes = {row["setting"]: row for row in rows(written["table2-outcomes.csv"].read_text(encoding="utf-8"))}
    assert list(outcomes) == [
        "reraise", "oracle", "healer · gpt", "healer · gpt · guard sinks", "healer · gpt · unguarded"]
    oracle = outcomes["oracle"]
    assert oracle["instances"] == "3"
    assert outcomes["healer · gpt"]["instances"] == "2 (1 missing)"
    assert oracle["CR"].startswith("66.7 % [")
    assert oracle["PR / CR without infrastructure failures, %"] == "100.0 / 100.0 (n=2)"
    assert (oracle["TS, %"], oracle["equal points, %"], oracle["traces"]) == ("50.0", "25.0", "1 (1 whole)")
    guarded, unguarded = rows(written["table5-guard.csv"].read_text(encoding="utf-8"))
    assert (guarded["allowed"], guarded["blocked"], guarded["by dynamic"]) == ("1", "1", "1")
    assert unguarded["blocked"] == "0"
    usage = {row["setting"]: row for row in rows(written["table6-usage.csv"].read_text(encoding="utf-8"))}
    assert usage["healer · gpt"]["cost, USD"] == "0.5 (2)"
    assert usage["oracle"]["cost, USD"] == ""
    packages = rows(written["table8-packages.csv"].read_text(encoding="utf-8"))
    assert [row["package"] for row in packages] == ["numpy", NASTY, "overall"]
    assert packages[-1]["oracle"] == "66.7"
    failures = rows(written["failures.csv"].read_text(encoding="utf-8"))
    assert failures == [{"setting": "oracle", "instance": "c", "class": "environment", "what happened": "no wheel"}]


def test_safety_cases_have_a_confusion_table(tmp_path: Path) -> None:
    cases = {"1": ("unsafe", True), "2": ("unsafe", True), "3": ("safe", True), "4": ("safe", False),
             "5": ("unsafe", False)}
    put(tmp_path, Setting(), {
        name: ("unsafe" if blocked else "correct", {"case": {"label": label, "stages": {"dynamic": blocked}}})
        for name, (label, blocked) in cases.items()}, suite="guard")
    written = {path.name: path for path in report.write_report(tmp_path, tmp_path / "out", "guard")}
    (row,) = rows(written["table9-decisions.csv"].read_text(encoding="utf-8"))
    assert [row[name] for name in ("check", "TP", "FP", "TN", "FN", "recall, %", "FPR, %")] == [
        "dynamic", "2", "1", "1", "1", "66.67", "50.00"]


class _Reader(HTMLParser):
    """Notes tags that stay open and everything that a page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [value or "" for name, value in attrs
                         if name in ("src", "href") and not (value or "").startswith("#")]
        if tag not in ("meta", "p"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag != "p":
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_page_needs_nothing_else(results: Path, tmp_path: Path) -> None:
    report.write_report(results, tmp_path / "out")
    text = (tmp_path / "out" / "releases" / "report.html").read_text(encoding="utf-8")
    reader = _Reader()
    reader.feed(text)
    assert reader.open == []
    assert reader.fetched == []
    assert NASTY in reader.text
    assert text.count("<svg") == 4, "rates, actions, crashes and costs"
    markdown = (tmp_path / "out" / "releases" / "report.md").read_text(encoding="utf-8")
    assert "## PR, CR and TS" in markdown
    assert NASTY.replace("|", "\\|") in markdown


def test_no_plots_without_matplotlib(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    report.write_report(results, tmp_path / "out")
    text = (tmp_path / "out" / "releases" / "report.html").read_text(encoding="utf-8")
    assert "pytest-heal[bench]" in text
    assert "<svg" not in text


def test_comparison_is_paired(tmp_path: Path) -> None:
    ids = [f"i-{number}" for number in range(12)]
    put(tmp_path, Setting("rules"),
        {id: ("correct" if number < 2 else "reraised", {}) for number, id in enumerate(ids)})
    put(tmp_path, Setting("runbook"),
        {id: ("correct" if number > 1 else "proceed", {}) for number, id in enumerate(ids[:10])})
    said = compare(tmp_path, "rules", "runbook")
    assert "10 instances that both have; 2 of one alone are left out" in said
    (row,) = [line for line in said.splitlines() if line.startswith("| CR")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1].startswith("20.0 % [")
    assert cells[2].startswith("80.0 % [")
    assert cells[4:] == ["2", "8", "0.109"]
    assert "McNemar's exact (binomial) test" in said
    assert "Right only with rules: i-0, i-1." in said


def test_changed_instances_are_not_compared(tmp_path: Path) -> None:
    put(tmp_path, Setting("rules"), {"a": ("correct", {"digest": "1"}), "b": ("correct", {"digest": "1"})})
    put(tmp_path, Setting("runbook"), {"a": ("correct", {"digest": "2"}), "b": ("correct", {"digest": "1"})})
    assert "1 instances that both have" in compare(tmp_path, "rules", "runbook")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report", "nowhere"], "holds no results"),
        (["report", ".", "--suite=guard"], "no results of suite 'guard'"),
        (["compare", ".", "oracle", "orakle"], "did you mean 'oracle'?"),
        (["compare", ".", "oracle", "healer"], "several settings"),
    ],
)
def test_wrong_questions_are_answered(results: Path, arguments: list[str], said: str) -> None:
    ran = subprocess.run([sys.executable, "-m", "benchmark_suites", *arguments], cwd=results, capture_output=True,
                         text=True, check=False)
    assert ran.returncode == 2
    assert said in ran.stderr


def test_report_prints_the_table(results: Path) -> None:
    ran = subprocess.run([sys.executable, "-m", "benchmark_suites", "report", "."], cwd=results, capture_output=True,
                         text=True, check=True)
    assert "oracle" in ran.stdout
    assert "report.html" in ran.stdout
