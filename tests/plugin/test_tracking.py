"""What a heal wrote is followed to protected operations: whole runs of pytest, in processes of their own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .tracked_flows import FLOWS, MODULE, Flow

SINKS = "DONE = []\nSTRICT = True\n\ndef sink(path):\n    DONE.append(path)\n"
POLICY = """
version: 1
protect:
  - {id: sink, call: sinks.sink, key: path}
  - {id: strict, condition: sinks.STRICT}
"""


def function(name: str, flow: str, before: str = "") -> str:
    return (f"\ndef {name}():\n    path = other = 'a'; box = Box()\n    {before or 'pass'}\n"
            f"    value = {{}}['missing']\n    {flow}\n")


def heals_of(crash: str = "path = 'a'") -> str:
    return f"version: 1\nheals:\n  - {{when: {{error: KeyError}}, do: {json.dumps(crash)}}}\n"


def run(folder: Path, *options: str, policy: str = POLICY, heals: str = "") -> dict[str, dict[str, Any]]:
    """Run ``test_flows.py`` in ``folder``; the records of its tests by name."""
    (folder / "sinks.py").write_text(SINKS, encoding="utf-8")
    (folder / "sinks.yaml").write_text(policy, encoding="utf-8")
    (folder / "heals.yaml").write_text(heals or heals_of(), encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--heal=runbook", "--heal-source=flows",
               "--heal-runbook=heals.yaml", "--heal-guard=sinks.yaml", "--heal-report=report.json", *options]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
                         env={**os.environ, "PYTHONPATH": str(folder)})
    assert (folder / "report.json").is_file(), ran.stdout + ran.stderr
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    notices = report["run"]["notices"]
    assert not [notice for notice in notices if notice["code"] == "internal"], notices
    return {test["nodeid"].rpartition("::")[2]: test for test in report["tests"] if "::" in test["nodeid"]}


def lay_out(folder: Path, functions: str, tests: str) -> None:
    (folder / "flows.py").write_text(MODULE + functions, encoding="utf-8")
    (folder / "test_flows.py").write_text("import flows, sinks\n" + tests, encoding="utf-8")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Every flow in both variants, in one run."""
    folder = tmp_path_factory.mktemp("flows")
    functions, tests = "", ""
    for number, flow in enumerate(FLOWS):
        for variant in ("unsafe", "safe"):
            name = f"{variant}_{number}"
            functions += function(name, getattr(flow, variant), flow.before)
            tests += f"\ndef test_{name}():\n    del sinks.DONE[:]\n    flows.{name}()\n    assert sinks.DONE\n"
    lay_out(folder, functions, tests)
    return run(folder)


@pytest.mark.parametrize("flow", FLOWS, ids=[flow.name for flow in FLOWS])
def test_a_healed_value_is_stopped_at_the_operation(flow: Flow, records: dict[str, dict[str, Any]]) -> None:
    test = records[f"test_unsafe_{FLOWS.index(flow)}"]
    assert test["outcome"] == "unsafe", flow.unsafe
    stops = stops_of(test)
    assert {(stop["rule"], stop["policy_id"]) for stop in stops} == {("HG307", "sink")}
    assert all(re.fullmatch(r".+:\d+", step) for stop in stops for step in stop["path"])


@pytest.mark.parametrize("flow", FLOWS, ids=[flow.name for flow in FLOWS])
def test_a_value_that_the_heal_did_not_write_passes(flow: Flow, records: dict[str, dict[str, Any]]) -> None:
    test = records[f"test_safe_{FLOWS.index(flow)}"]
    assert test["outcome"] == "correct", (flow.safe, test["crashes"])


def one(tmp_path: Path, flow: str, *options: str, before: str = "", crash: str = "path = 'a'", **more: str) -> Any:
    lay_out(tmp_path, function("go", flow, before), "\ndef test_go():\n    flows.go()\n")
    return run(tmp_path, *options, heals=heals_of(crash), **more)["test_go"]


def stops_of(test: dict[str, Any]) -> list[dict[str, Any]]:
    return [stop for crash in test["crashes"] for action in crash["actions"] for stop in action.get("stops", ())]


def rules(test: dict[str, Any]) -> list[str]:
    return [stop["rule"] for stop in stops_of(test)]


def test_swallowing_the_veto_gains_nothing(tmp_path: Path) -> None:
    swallow = "\n    for _ in range(3):\n        try: sink(path)\n        except BaseException: pass"
    test = one(tmp_path, swallow + "\n    assert not __import__('sinks').DONE")
    assert test["outcome"] == "unsafe"
    assert rules(test) == ["HG307"] * 3


def test_what_the_function_returns_is_followed(tmp_path: Path) -> None:
    lay_out(tmp_path, "\ndef inner():\n    return {}['missing']\n\ndef go():\n    sink(inner() + '!')\n",
            "\ndef test_go():\n    flows.go()\n")
    assert run(tmp_path, heals=heals_of("_eh_rtn = 'a'"))["test_go"]["outcome"] == "unsafe"


def test_literal_mode_stops_whatever_is_not_written_out(tmp_path: Path) -> None:
    test = one(tmp_path, "sink(other)", "--heal-guard-mode=literal")
    assert test["outcome"] == "unsafe"
    assert rules(test) == ["HG309"]


def test_literal_mode_lets_literals_pass(tmp_path: Path) -> None:
    assert one(tmp_path, "sink('x'); sink(path='y')", "--heal-guard-mode=literal")["outcome"] == "correct"


def test_off_stops_nothing_after_the_heal(tmp_path: Path) -> None:
    assert one(tmp_path, "sink(path)", "--heal-guard-mode=off")["outcome"] == "correct"


def test_past_the_budget_the_literal_rule_holds_and_says_so(tmp_path: Path) -> None:
    busy = "\n    for i in range(20000): path = path[:1] + 'b'\n    sink(other)"
    test = one(tmp_path, busy, "--heal-guard-budget=0.001")
    assert test["outcome"] == "unsafe"
    stops = stops_of(test)
    assert [(stop["rule"], stop["exact"]) for stop in stops] == [("HG309", False)]


def test_with_coverage_measuring_nothing_is_lost(tmp_path: Path) -> None:
    test = one(tmp_path, "\n    for p in ('x', path):\n        sink(p)", "--cov=flows", "--cov-report=json:cov.json")
    assert test["outcome"] == "unsafe"
    measured = json.loads((tmp_path / "cov.json").read_text(encoding="utf-8"))["files"]["flows.py"]
    lines = (tmp_path / "flows.py").read_text(encoding="utf-8").splitlines()
    assert lines.index("        sink(p)") + 1 in measured["executed_lines"]


def test_workers_of_xdist_follow_as_well(tmp_path: Path) -> None:
    assert one(tmp_path, "sink(path)", "-n1")["outcome"] == "unsafe"
